// The answer page: one survey, one person, one upload. What is chosen lives in the walk through the
// questions until "Send" is pressed, then in one variable until the reports are made, and nowhere else.

import { splitLink } from "../src/checks.js";
import { Contributor } from "../src/contributor.js";
import { JrrError } from "../src/errors.js";
import { invitationSecret } from "../src/identity.js";
import { Ledger } from "../src/ledger.js";
import { IndexedDbStorage, MemoryStorage } from "../src/storage.js";
import { acts, element, heading, paragraph } from "./elements.js";
import { hosts, logoOf, whomToAsk } from "./introduction.js";
import {
  inLanguage, lacksCards, progressWords, questionScreen, reviewScreen, sentTable, surveyIntroduction, surveyLanguage,
  tellsCardSums, thanksKey, tried,
} from "./screens.js";
import { pageHash } from "./seal.js";
import { LANGUAGES, chosenLanguage, factOf, hasText, kindOf, loadLanguage, say } from "./texts.js";
import { tryParts } from "./try.js";
import { Walk } from "./walk.js";

const LIMIT = 5; // the page refuses to answer where more would be told
const PATIENCE = 10; // seconds to wait for each server
const FIRST_PATIENCE = 3; // before anything is shown
const SLOW = 4000; // milliseconds after which somebody who waits is told so
const IDLE = 120_000; // milliseconds without a touch after which a shared device begins anew
const GIVEN = "jrr-given"; // where this tab keeps what the link said
const TRYING = -1; // among the steps that the browser's "back" knows; 0 is the introduction
const STOPPING = -2;

const main = document.getElementById("main");
const picker = document.getElementById("language");
const about = document.getElementById("about");
const given = takeGiven(); // never sent to any server
const kiosk = given.has("kiosk"); // a device that several people use one after another
let language = await loadLanguage(chosenLanguage([given.get("language") ?? "", ...navigator.languages]));
let screen = loading; // what is shown, so that it can be shown again in another language
let storage;
let person;
let survey;
let walk; // through its questions
let closes = null; // until when answers are taken, as the collector says
let spent = { answers: 0, epsilon: 0 };
let consented = false;

/**
 * What follows the # of the link. It goes from the address into what this tab keeps for a reload. Whoever
 * comes to the page's bare address after somebody has answered in this tab begins anew.
 */
function takeGiven() {
  const isVisit = performance.getEntriesByType("navigation")[0]?.type === "navigate";
  try {
    const hasAnswered = new URLSearchParams(sessionStorage.getItem(GIVEN) ?? "").has("sent");
    if (location.hash) sessionStorage.setItem(GIVEN, location.hash.slice(1));
    else if (isVisit && hasAnswered) sessionStorage.removeItem(GIVEN);
    return new URLSearchParams(sessionStorage.getItem(GIVEN) ?? "");
  } catch {
    return new URLSearchParams(location.hash.slice(1)); // openStorage says what is wrong
  } finally {
    history.replaceState(history.state, "", location.pathname + location.search);
  }
}

/** Keep of the link only which survey it was, and whether somebody has answered it. */
function dropGiven(sent) {
  const kept = ["survey", "language", "kiosk"].filter((name) => given.has(name)).map((name) => [name, given.get(name)]);
  sessionStorage.setItem(GIVEN, new URLSearchParams([...kept, ...(sent ? [["sent", sent]] : [])]));
}

/** On a device of several people: forget this one, and begin anew. */
function nextPerson() {
  dropGiven();
  location.reload();
}

const text = (key, gaps) => say(language, key, gaps);
const button = (key, act, first = false) =>
  element("button", { type: "button", class: first ? "first" : "other", onclick: act }, text(key));

/** What the tab is called: where somebody is. Words of the survey would stay in the browser's history. */
function tabTitle(drawn, title) {
  if (drawn === question) return `${progressWords(walk.progress, text)} – ${text("title")}`;
  return typeof title === "string" ? `${title} – ${text("title")}` : text("title");
}

/** Show a screen and tell screen readers where they are. */
function show(drawn, title, ...children) {
  screen = drawn;
  document.documentElement.lang = language;
  document.documentElement.dir = text("direction");
  document.title = tabTitle(drawn, title);
  document.getElementById("language-label").textContent = text("choose_language");
  document.getElementById("about-title").textContent = text("about_title");
  document.getElementById("about-text").textContent = text("about");
  const top = element("h1", { tabindex: "-1", id: "title" }, title);
  if (title instanceof Node) {
    top.dir = "auto"; // words of the survey
    top.className = "keep-lines";
  }
  if (drawn === question) top.setAttribute("aria-describedby", "section badge");
  main.replaceChildren(...above(drawn), top, ...children);
  document.body.append(about.parentElement); // a new screen, down to its last line: nothing moves
  top.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** What stands over a heading: whose survey it is, or what the next questions are about. */
function above(drawn) {
  const shown = survey && surveyLanguage(survey, language);
  if (drawn === introduction && survey.logo) return [logoOf(survey, shown)];
  if (drawn !== question || !walk.question.section) return [];
  const section = inLanguage("p", walk.question.section[shown], shown, "section");
  section.id = "section";
  return [section];
}

function loading() {
  const note = paragraph("", { role: "status" });
  show(loading, text("loading"), note);
  setTimeout(() => (note.textContent = text("slow")), SLOW);
}

function sending() {
  show(sending, text("sending"), paragraph(text("sending_what")));
}

/** Words of the survey, as a heading has them. */
const ofSurvey = (texts) => {
  const shown = surveyLanguage(survey, language);
  return inLanguage("span", texts[shown], shown);
};

function introduction() {
  show(
    introduction,
    ofSurvey(survey.title),
    ...surveyIntroduction(survey, text, language, spent, closes),
    acts(
      button("agree", agreed, true),
      button("try", () => forward(TRYING, trying)),
      hasBegun() ? stopButton() : button("decline", declined),
    ),
  );
}

/** Whether something was answered that stopping would delete. */
const hasBegun = () => walk?.hasAnswers;

/** Go on; the browser's "back" leads here again. It is told a number of a step and nothing else. */
function forward(step, draw) {
  history.pushState(step, "");
  draw();
}

const goBack = () => history.back();

/** Keep what is chosen on this screen, in memory: it may be shown again. */
function keepBegun() {
  if (screen === question) walk.keep(main.querySelector("form").begun());
}

function forget() {
  walk?.forget();
}

/** Where "back" or "forward" of the browser lead; from what was sent nowhere. */
function goTo(step) {
  if (screen === declined || screen === stopped) return introduction();
  if (![introduction, trying, question, review, stopping].includes(screen)) return undefined;
  keepBegun();
  if (step === TRYING) return trying();
  if (step === STOPPING) return stopping();
  if (!step || !consented) return introduction();
  return walk.goTo(step) ? question() : review();
}

function trying() {
  const parts = tryParts(tried(survey, text, language), text, language);
  show(trying, text("try_title"), ...parts, acts(button("back", goBack, true)));
}

function declined() {
  consented = false;
  dropGiven(); // whoever comes next to this tab is not taken for this person
  show(declined, text("declined_title"), paragraph(text("declined")));
}

/** Leads to one question, whether answers shall be deleted; nothing is lost before. */
const stopButton = () =>
  button("stop", () => {
    keepBegun();
    forward(STOPPING, stopping);
  });

function stopping() {
  show(
    stopping,
    text("stop_title"),
    paragraph(text("stop_what")),
    acts(button("back", goBack, true), button("stop_confirm", stopped)),
  );
}

function stopped() {
  consented = false;
  forget();
  dropGiven();
  show(stopped, text("stopped_title"), paragraph(text("declined")));
}

/** Whether an invitation, where one is needed, has no slip of the pen. */
function invitationIsFine(invitation) {
  if (!survey.invitations) return true;
  try {
    invitationSecret(invitation ?? "");
    return true;
  } catch {
    return false;
  }
}

/** A screen that asks for one text; `take` does something with it, or throws. */
function askFor(drawn, key, wrong, take) {
  const input = element("input", {
    type: "text", id: key, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    "aria-describedby": "hint problem", dir: "ltr",
    value: document.getElementById(key)?.value ?? "", // shown again in another language
  });
  const problem = paragraph(wrong ? text(`${key}_wrong`) : "", {
    class: "wrong", id: "problem", role: "alert",
  });
  const form = element(
    "form",
    {},
    element("label", { for: key }, text(key)),
    input,
    paragraph(text(`${key}_hint`), { class: "quiet", id: "hint" }),
    problem,
    acts(element("button", { class: "first" }, text("next"))),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      take(input.value);
    } catch {
      problem.textContent = text(`${key}_wrong`);
      input.setAttribute("aria-invalid", "true");
      input.focus();
    }
  });
  show(drawn, text(`${key}_title`), form);
}

function invitation(wrong = false) {
  askFor(() => invitation(wrong), "invitation", wrong, (words) => {
    invitationSecret(words);
    given.set("invitation", words);
    person = undefined;
    if (consented) agreed();
    else introduction();
  });
}

/** The link that somebody typed or copied, with or without what stands before it. */
function typedLink(words) {
  const [before, after] = words.replace(/\s/gu, "").split("#");
  if (after !== undefined) {
    const told = new URLSearchParams(after);
    if (told.has("survey")) return after;
  }
  const whole = /^https?:/iu.test(before) ? before : `https://${before}`;
  // Capitals do not matter: in the server's name, and in /v1/surveys/ with what follows.
  const link = whole.replace(/^https?:\/\/[^/]*|(\/[^/]*){3}$/giu, (part) => part.toLowerCase());
  splitLink(link);
  return `survey=${link}`;
}

/** For somebody who typed the page's address: which survey? Then the page begins anew. */
function start() {
  askFor(start, "start", false, (words) => {
    location.hash = typedLink(words);
  });
}

/** The survey that whoever serves the page has named beside it, if any. */
async function namedSurvey() {
  const reply = await fetch("start.txt", { credentials: "omit", cache: "no-cache" }).catch(() => null);
  if (!reply?.ok) return false;
  const link = (await reply.text()).trim();
  try {
    splitLink(link);
  } catch {
    return false; // some servers reply with a page to whatever is asked
  }
  given.set("survey", link);
  return true;
}

/** A contributor with the invitation, if the survey needs one. */
function newPerson(patience = PATIENCE) {
  const wanted = survey?.invitations ? { invitation: given.get("invitation") } : {};
  return new Contributor(given.get("survey"), { limit: LIMIT, patience, storage, ...wanted });
}

async function agreed() {
  consented = true;
  if (!invitationIsFine(given.get("invitation"))) {
    invitation(given.has("invitation"));
    return;
  }
  loading();
  await guarded(async () => {
    if (await answeredBefore()) return resume();
    if (survey.dealing.enrols && (await beforeDealing())) return (await person.enrolled()) ? seated() : seat();
    await person.checkReady();
    if (!kiosk) await person.takePlace(); // a shared device forgets whoever leaves it
    walk ??= new Walk(survey, await person.notAsked());
    return forward(walk.step, question);
  });
}

/** Whether this person has answered on this device; servers are not asked (docs/answer-page.md). */
async function answeredBefore() {
  if (!person) {
    person = newPerson();
    await person.survey();
  }
  return (await person.before()) !== null;
}

/** The question that comes next. */
function question() {
  const next = (answer) => (walk.next(answer) ? forward(walk.step, question) : forward(walk.step + 1, review));
  const back = button("back", goBack);
  const parts = questionScreen(walk, survey, text, language, next, back, stopButton());
  show(question, ofSurvey(walk.question.text), ...parts);
}

function review() {
  const others = [button("back", goBack), stopButton()];
  const parts = reviewScreen(walk, survey, text, language, sendAll, ...others);
  show(review, text("review_title"), ...parts);
}

const sendAll = () => sendIfOpen(review, () => person.answer(walk.take()));

/** Send where the collector takes answers; where it is silent, back to the screen: nothing is lost. */
async function sendIfOpen(putBack, answer) {
  sending(); // the form is gone from here on
  await guarded(async () => {
    try {
      await person.checkOpen();
    } catch (error) {
      if (error.name !== "UnreachableError") throw error;
      putBack();
      document.getElementById("problem").textContent = text("offline");
      return;
    }
    thanks(await answer());
  });
}

/** Whether cards are still to be dealt to those who take a place. */
async function beforeDealing() {
  const { state, n } = await person.status();
  return state !== "closed" && (n ?? null) === null;
}

function seat() {
  const take = () => {
    sending();
    return guarded(async () => {
      await person.enrol();
      seated();
    });
  };
  show(seat, text("seat_title"), paragraph(text("seat", hosts(survey, language))), acts(button("seat_take", take, true), button("decline", declined)));
}

function seated() {
  show(seated, text("seated_title"), paragraph(text("seated")));
}

/** Send what is kept; tell whoever comes again that it had arrived before. */
async function resume() {
  sending();
  await guarded(async () => {
    const { sent } = await person.before();
    thanks({ ...(await person.resume()), before: sent });
  });
}

function thanks({ body, before }) {
  history.replaceState(null, "");
  if (!kiosk) dropGiven("yes");
  const next = kiosk ? acts(button("next_person", nextPerson, true)) : "";
  if (body === null) {
    const words = `${text("thanks_before")} ${text("thanks_close")}`;
    show(() => thanks({ body, before }), text("thanks_title"), paragraph(kiosk ? text("thanks_before") : words), next);
    return;
  }
  const label = { role: "region", "aria-label": text("sent_bytes") };
  const raw = element("pre", { id: "sent", tabindex: "0", dir: "ltr", ...label }, body);
  show(
    () => thanks({ body, before }),
    text("thanks_title"),
    paragraph(text(thanksKey(survey, body, before))),
    kiosk ? "" : paragraph(text("thanks_close")),
    heading(2, text("sent")),
    paragraph(text("sent_to", hosts(survey, language)), { class: "quiet" }),
    sentTable(body, survey, text, language),
    paragraph(text("survey_sent")),
    tellsCardSums(survey, body) ? paragraph(text("sent_numbers")) : "",
    lacksCards(survey, body) ? paragraph(text("cardless")) : "",
    next,
    element("details", {}, element("summary", {}, text("sent_bytes")), raw),
  );
}

function waiting() {
  show(waiting, text("waiting_title"), paragraph(text(kiosk ? "waiting_shared" : "waiting")), acts(button("retry", resume, true)));
}

function failed(error, fact) {
  const kind = kindOf(error);
  // Without a network the browser would show its own page instead of this one.
  const again = () => navigator.onLine !== false && location.reload();
  const retry = kind === "unreachable" ? acts(button("retry", again, true)) : "";
  const title = `title_${kind}`;
  const words = kind === "unreachable" && navigator.onLine === false ? "offline" : kind;
  show(
    () => failed(error, fact),
    text(hasText(title) ? title : "error_title"),
    paragraph(text(`error_${words}`)),
    fact ? paragraph(text(fact)) : "",
    whomToAsk(text, survey?.contact?.[surveyLanguage(survey, language)]),
    retry,
  );
}

/** Do something; what goes wrong is told in words that are ours. */
async function guarded(act) {
  try {
    await act();
  } catch (error) {
    const kept = await person?.before().catch(() => undefined);
    if (kept && error.name === "UnreachableError") return waiting();
    forget();
    failed(error, factOf(error, kept));
  }
}

/** A browser that keeps nothing could make two reports of one answer: refuse early. */
async function openStorage() {
  try {
    storage = kiosk ? new MemoryStorage() : new IndexedDbStorage(); // of the next person's, nothing
    await storage.add("works", "yes");
    spent = await new Ledger(storage).spent();
  } catch {
    throw new JrrError("storage", "this browser keeps nothing");
  }
}

for (const [tag, name] of Object.entries(LANGUAGES)) {
  picker.append(element("option", { value: tag, lang: tag }, name));
}
picker.value = language;
picker.addEventListener("change", async () => {
  const wanted = picker.value;
  const chosen = await loadLanguage(wanted);
  if (picker.value !== wanted) return; // meanwhile another one was chosen
  keepBegun();
  language = picker.value = chosen;
  screen();
});
about.addEventListener("toggle", async () => {
  const shown = document.getElementById("page-hash");
  shown.textContent = await pageHash().catch(() => "–");
}, { once: true });
window.addEventListener("online", () => {
  if (screen === waiting) resume();
  for (const told of main.querySelectorAll("[role=alert]")) told.textContent = ""; // "no network"
});
window.addEventListener("popstate", ({ state }) => goTo(state));
// Whoever presses "back" later must not find a form that is filled in.
window.addEventListener("pagehide", () => {
  forget();
  if ([question, review].includes(screen)) main.replaceChildren();
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
window.addEventListener("hashchange", () => location.reload());
if (kiosk) {
  let idle;
  const wait = () => {
    clearTimeout(idle);
    idle = setTimeout(() => ([waiting, sending].includes(screen) ? wait() : nextPerson()), IDLE);
  };
  for (const touch of ["pointerdown", "keydown"]) window.addEventListener(touch, wait);
  wait();
}

loading();
history.replaceState(null, ""); // a step from before a reload leads nowhere
await guarded(async () => {
  // Headers forbid it too, but not every web server sends them; a frame may be dressed up.
  if (window.top !== window.self) throw new JrrError("framed", "the page must not be in a frame");
  await openStorage();
  if (!given.has("survey") && !(await namedSurvey())) return start();
  const anybody = newPerson(FIRST_PATIENCE);
  survey = await anybody.survey();
  if (given.has("sent")) return thanks({ body: null, before: true });
  // A link with a mistyped invitation is told at once, before anything is agreed to.
  const isFine = invitationIsFine(given.get("invitation"));
  if (given.has("invitation") && !isFine) return invitation(true);
  if (isFine && (await answeredBefore())) return resume();
  const { state, closes: until } = await anybody.status();
  closes = until ?? null;
  if (state === "closed") throw new JrrError("closed", "it is closed");
  if (state !== "open" && !survey.dealing.enrols) throw new JrrError("too-early", "it is not open yet");
  return introduction();
});
