/** Asks a survey inside another page; attributes link, invitation, language, limit. */
export class JrrSurvey extends HTMLElement {}

declare global {
  interface HTMLElementTagNameMap {
    "jrr-survey": JrrSurvey;
  }
  interface HTMLElementEventMap {
    /** The collector has the answer, changed; `before`: it had it already. */
    "jrr-answered": CustomEvent<{ hash: string; before: boolean }>;
    "jrr-declined": CustomEvent<Record<string, never>>;
    /** `kind`: a word for programs, as of JrrError. */
    "jrr-failed": CustomEvent<{ kind: string }>;
  }
}
