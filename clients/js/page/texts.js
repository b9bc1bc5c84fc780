// Texts of the page by language: one file each in ../texts, all with the same keys. {name} stands for
// what the page fills in; texts are only ever shown as text. English comes with the page, others are
// loaded when somebody reads them.

import { loadTexts } from "../src/lazy.js";
import english from "../texts/en.js";

/** Every language that there is a file of, as it names itself. */
export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français" };

const TEXTS = { en: english };

/** Load a language's texts; where they cannot be had, texts stay English. Which language it is now. */
export async function loadLanguage(language) {
  try {
    TEXTS[language] ??= (await loadTexts(language)).default;
    return language;
  } catch {
    return "en";
  }
}

/** Whether there is such a text. */
export const hasText = (key) => Object.hasOwn(english, key);

/** The first language that the person reads and the page speaks. */
export function chosenLanguage(wanted) {
  const known = wanted.map((tag) => tag.toLowerCase().split("-")[0]);
  return known.find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? "en";
}

const KINDS = {
  UnreachableError: "unreachable", UnsupportedError: "unsupported",
  conflict: "used", "other-device": "elsewhere", "serial-used": "used",
};

/** What went wrong, as far as there are words for it. */
export function kindOf({ name, kind }) {
  const found = KINDS[name] ?? KINDS[kind] ?? kind;
  return hasText(`error_${found}`) ? found : "other";
}

/**
 * What is known of what was sent when something went wrong; `kept`: the report that was made, null
 * for none, undefined where this cannot be told. Of a report that may have arrived nothing is said.
 */
export function factOf({ posted = false }, kept) {
  if (posted) return "fact_refused";
  return kept === null ? "fact_nothing" : null;
}

/** A text with its gaps filled. */
export function say(language, key, gaps = {}) {
  const text = (TEXTS[language] ?? english)[key];
  return text.replace(/\{(\w+)\}/gu, (_, name) => gaps[name] ?? "");
}
