// <jrr-survey>: asks a survey inside another page. Answers are changed in here
// before anything is sent; the page around it is told that somebody has answered, never what.
//
//   <script type="module" src="…/embed/element.js"></script>
//   <jrr-survey link="https://collector.example/v1/surveys/HASH" invitation="…"></jrr-survey>
//
// Whoever serves the page around it can read whatever is typed into it: see docs/embedding.md.

import {
  Contributor, IndexedDbStorage, JrrError, Ledger, invitationSecret,
} from "../src/index.js";
import { acts, element, paragraph } from "../page/elements.js";
import {
  inLanguage, questionScreen, reviewScreen, surveyIntroduction, surveyLanguage, thanksKey,
} from "../page/screens.js";
import { chosenLanguage, factOf, kindOf, loadLanguage, say } from "../page/texts.js";
import { Walk } from "../page/walk.js";

const LIMIT = 5; // unless the attribute `limit` says otherwise
const PATIENCE = 10; // seconds to wait for each server
const STYLE = new URL("../page/page.css", import.meta.url).href;

let storage; // one for all elements of a page

export class JrrSurvey extends HTMLElement {
  static observedAttributes = ["link", "invitation", "language", "limit"];

  #root = this.attachShadow({ mode: "closed" });
  #main = element("div", { class: "embedded" });
  #survey = null;
  #person = null;
  #walk = null;
  #started = false;

  connectedCallback() {
    if (this.#started) return;
    this.#root.replaceChildren(element("link", { rel: "stylesheet", href: STYLE }), this.#main);
    // After the page around it has set all attributes, in whatever order.
    queueMicrotask(() => this.#start());
  }

  disconnectedCallback() {
    this.#walk?.forget();
  }

  attributeChangedCallback(_name, before, now) {
    if (this.#started && before !== now) this.#start();
  }

  get #language() {
    return chosenLanguage([this.getAttribute("language") ?? "", document.documentElement.lang, ...navigator.languages]);
  }

  #text = (key, gaps) => say(this.#language, key, gaps);

  #button(key, act, first = false) {
    return element("button", { type: "button", class: first ? "first" : "other", onclick: act }, this.#text(key));
  }

  #show(title, ...children) {
    const moved = this.#main.children.length > 0 && this.#root.activeElement !== null;
    const heading = element("h2", { tabindex: "-1", class: "title" }, title);
    if (title instanceof Node) heading.dir = "auto";
    this.#main.lang = this.#language;
    this.#main.dir = this.#text("direction");
    this.#main.replaceChildren(heading, ...children);
    if (moved) heading.focus({ preventScroll: false }); // only of somebody who is in here already
  }

  /** Tell the page around: what happened, never what was answered. */
  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(`jrr-${name}`, { detail, bubbles: true, composed: true }));
  }

  #newPerson(withInvitation) {
    const invitation = this.getAttribute("invitation");
    const wanted = withInvitation && invitation ? { invitation } : {};
    const limit = Number(this.getAttribute("limit") ?? LIMIT);
    return new Contributor(this.getAttribute("link") ?? "", { limit, patience: PATIENCE, storage, ...wanted });
  }

  async #start() {
    this.#started = true;
    await loadLanguage(this.#language);
    this.#show(this.#text("loading"));
    await this.#guarded(async () => {
      try {
        storage ??= new IndexedDbStorage();
        await storage.add("works", "yes");
      } catch {
        throw new JrrError("storage", "this browser keeps nothing");
      }
      this.#survey = await this.#newPerson(false).survey();
      if (this.#survey.invitations) invitationSecret(this.getAttribute("invitation") ?? "");
      this.#person = this.#newPerson(this.#survey.invitations);
      await this.#person.survey();
      if (await this.#person.before()) return this.#resume();
      return this.#introduction();
    });
  }

  async #introduction() {
    const spent = await new Ledger(storage).spent();
    const leave = this.#walk?.hasAnswers
      ? this.#stopButton(() => {}, () => this.#introduction())
      : this.#button("decline", () => this.#declined());
    this.#show(
      this.#inSurvey(this.#survey.title),
      ...surveyIntroduction(this.#survey, this.#text, this.#language, spent),
      acts(this.#button("agree", () => this.#agreed(), true), leave),
    );
  }

  #inSurvey(texts) {
    const shown = surveyLanguage(this.#survey, this.#language);
    return inLanguage("span", texts[shown], shown);
  }

  #declined() {
    this.#show(this.#text("declined_title"), paragraph(this.#text("declined")));
    this.#tell("declined", {});
  }

  /** Leads to one question, whether answers shall be deleted; `keep` and `back`: if not. */
  #stopButton(keep, back) {
    const confirm = () => {
      this.#walk?.forget();
      this.#show(this.#text("stopped_title"), paragraph(this.#text("declined")));
      this.#tell("declined", {});
    };
    return this.#button("stop", () => {
      const kept = keep();
      const stay = this.#button("back", () => back(kept), true);
      const acting = acts(stay, this.#button("stop_confirm", confirm));
      this.#show(this.#text("stop_title"), paragraph(this.#text("stop_what")), acting);
    });
  }

  async #agreed() {
    await this.#guarded(async () => {
      await this.#person.checkReady();
      await this.#person.takePlace();
      this.#walk ??= new Walk(this.#survey, await this.#person.notAsked());
      return this.#question();
    });
  }

  /** What is chosen on this screen. */
  #begun() {
    return this.#main.querySelector("form").begun();
  }

  #question() {
    const next = (answer) => (this.#walk.next(answer) ? this.#question() : this.#review());
    const back = this.#button("back", () => (this.#walk.back() ? this.#question() : this.#introduction()));
    const stop = this.#stopButton(() => this.#walk.keep(this.#begun()), () => this.#question());
    const parts = questionScreen(this.#walk, this.#survey, this.#text, this.#language, next, back, stop);
    this.#show(this.#inSurvey(this.#walk.question.text), ...parts);
  }

  #review() {
    const send = () =>
      this.#sendIfOpen(() => this.#review(), () => this.#person.answer(this.#walk.take()));
    const back = this.#button("back", () => this.#question());
    const stop = this.#stopButton(() => {}, () => this.#review());
    const parts = reviewScreen(this.#walk, this.#survey, this.#text, this.#language, send, back, stop);
    this.#show(this.#text("review_title"), ...parts);
  }

  async #send(act) {
    this.#show(this.#text("sending")); // the form is gone from here on
    await this.#guarded(async () => {
      const done = await act();
      if (typeof done !== "function") return this.#thanks(done);
      done();
      this.#main.querySelector("#problem").textContent = this.#text("offline");
      return undefined;
    });
  }

  /** Send where the collector takes answers; where it is silent, back to the screen: nothing is lost. */
  async #sendIfOpen(putBack, answer) {
    await this.#send(async () => {
      try {
        await this.#person.checkOpen();
      } catch (error) {
        if (error.name !== "UnreachableError") throw error;
        return putBack;
      }
      return answer();
    });
  }

  async #resume() {
    await this.#send(async () => ({ ...(await this.#person.resume()), before: true }));
  }

  #thanks({ body, before }) {
    this.#show(
      this.#text("thanks_title"),
      paragraph(this.#text(body === null ? "thanks_before" : thanksKey(this.#survey, body, before))),
      body === null // it was sent earlier: nothing of it is kept
        ? ""
        : element(
            "details",
            {},
            element("summary", {}, this.#text("sent")),
            element("pre", { id: "sent", tabindex: "0", dir: "ltr" }, body),
          ),
    );
    this.#tell("answered", { hash: this.#survey.hash, before });
  }

  async #guarded(act) {
    try {
      await act();
    } catch (error) {
      const unreachable = error.name === "UnreachableError";
      const kept = await this.#person?.before().catch(() => undefined);
      if (kept && unreachable) {
        const retry = this.#button("retry", () => this.#resume(), true);
        this.#show(this.#text("waiting_title"), paragraph(this.#text("waiting")), acts(retry));
        return;
      }
      const named = error.kind ?? "other";
      const told = this.#text(named === "invitation" ? "invitation_wrong" : `error_${kindOf(error)}`);
      const retry = unreachable ? [acts(this.#button("retry", () => this.#start(), true))] : [];
      const fact = factOf(error, kept);
      this.#walk?.forget();
      this.#show(this.#text("error_title"), paragraph(told), fact ? paragraph(this.#text(fact)) : "", ...retry);
      this.#tell("failed", { kind: named });
    }
  }
}

if (!customElements.get("jrr-survey")) customElements.define("jrr-survey", JrrSurvey);
