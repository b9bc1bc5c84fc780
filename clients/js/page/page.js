// The answer page: one question or one survey of several, one person, one upload. What is chosen
// lives in the form (of a survey: in its walk) until "Send" is pressed, then in one variable until
// the report is made, and nowhere else.

import {
  Contributor, IndexedDbStorage, JrrError, Ledger, SurveyContributor, invitationSecret,
} from "../src/index.js";
import { acts, element, heading, paragraph } from "./elements.js";
import { hosts, introductionParts } from "./introduction.js";
import { questionForm } from "./question.js";
import { pageHash } from "./seal.js";
import {
  inLanguage, itemScreen, reviewScreen, sentTable, surveyIntroduction, surveyLanguage, tried,
} from "./survey.js";
import { TEXTS, chosenLanguage, say } from "./texts.js";
import { tryParts } from "./try.js";
import { Walk } from "./walk.js";

const LIMIT = 5; // the page refuses to answer where more would be told
const PATIENCE = 10; // seconds to wait for each server

const main = document.getElementById("main");
const picker = document.getElementById("language");
const about = document.getElementById("about");
const given = new URLSearchParams(location.hash.slice(1)); // never sent to any server
const isSurvey = given.has("survey");
let language = chosenLanguage([given.get("language") ?? "", ...navigator.languages]);
let screen = loading; // what is shown, so that it can be shown again in another language
let storage;
let person;
let campaign; // or survey
let walk; // through the items of a survey
let spent = { answers: 0, epsilon: 0 };
let consented = false;

const text = (key, gaps) => say(language, key, gaps);
const button = (key, act, first = false) =>
  element("button", { type: "button", class: first ? "first" : "other", onclick: act }, text(key));

/** Show a screen and tell screen readers where they are. */
function show(drawn, title, ...children) {
  screen = drawn;
  document.documentElement.lang = language;
  document.documentElement.dir = text("direction");
  document.title = text(isSurvey ? "survey_title" : "title");
  document.getElementById("language-label").textContent = text("choose_language");
  document.getElementById("about-title").textContent = text("about_title");
  document.getElementById("about-text").textContent = text("about");
  const top = element("h1", { tabindex: "-1" }, title);
  if (title === campaign?.question) {
    top.dir = "auto";
    top.className = "keep-lines";
  }
  if (title instanceof Node) top.dir = "auto"; // words of a survey
  if (drawn === item) top.setAttribute("aria-describedby", "badge");
  main.replaceChildren(top, ...children);
  document.body.append(about.parentElement); // a new screen, down to its last line: nothing moves
  top.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function loading() {
  show(loading, text("loading"));
}

function sending() {
  show(sending, text("sending"), paragraph(text("sending_what")));
}

/** Words of the survey, as a heading has them. */
const ofSurvey = (texts) => {
  const shown = surveyLanguage(campaign, language);
  return inLanguage("span", texts[shown], shown);
};

function introduction() {
  const parts = isSurvey ? surveyIntroduction : introductionParts;
  show(
    introduction,
    isSurvey ? ofSurvey(campaign.questionnaire.title) : text("title"),
    ...parts(campaign, text, language, spent),
    acts(button("agree", agreed, true), button("try", trying), button("decline", declined)),
  );
}

function trying() {
  const parts = tryParts(isSurvey ? tried(campaign, text, language) : campaign, text, language);
  show(trying, text("try_title"), ...parts, acts(button("back", introduction, true)));
}

function declined() {
  consented = false;
  walk?.forget();
  show(declined, text("declined_title"), paragraph(text("declined")));
}

/** Whether an invitation, where one is needed, has no slip of the pen. */
function invitationIsFine(invitation) {
  if (!campaign.invitations) return true;
  try {
    invitationSecret(invitation ?? "");
    return true;
  } catch {
    return false;
  }
}

function invitation(wrong = false) {
  const input = element("input", {
    type: "text", id: "invitation", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    "aria-describedby": "hint problem", dir: "ltr",
  });
  const problem = paragraph(wrong ? text("invitation_wrong") : "", {
    class: "wrong", id: "problem", role: "alert",
  });
  const form = element(
    "form",
    {},
    element("label", { for: "invitation" }, text("invitation")),
    input,
    paragraph(text("invitation_hint"), { class: "quiet", id: "hint" }),
    problem,
    acts(element("button", { class: "first" }, text("next"))),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!invitationIsFine(input.value)) {
      problem.textContent = text("invitation_wrong");
      input.setAttribute("aria-invalid", "true");
      input.focus();
      return;
    }
    given.set("invitation", input.value);
    if (consented) agreed();
    else introduction();
  });
  show(() => invitation(wrong), text("invitation_title"), form);
}

/** A contributor with the invitation, if the campaign needs one. */
function newPerson() {
  const wanted = campaign?.invitations ? { invitation: given.get("invitation") } : {};
  const settings = { limit: LIMIT, patience: PATIENCE, storage, ...wanted };
  if (isSurvey) return new SurveyContributor(given.get("survey"), settings);
  return new Contributor(given.get("campaign") ?? "", settings);
}

/** What is asked, fetched and checked. */
const asked = (one) => (isSurvey ? one.survey() : one.campaign());

async function agreed() {
  consented = true;
  if (!invitationIsFine(given.get("invitation"))) {
    invitation(given.has("invitation"));
    return;
  }
  loading();
  await guarded(async () => {
    person = newPerson();
    await asked(person);
    if (await person.before()) return resume();
    if (campaign.enrols && (await beforeDealing())) return (await person.enrolled()) ? seated() : seat();
    await person.checkReady();
    if (!isSurvey) return question();
    walk ??= new Walk(campaign);
    return item();
  });
}

/** The item of a survey that comes next. */
function item() {
  const next = (answer) => (walk.next(answer) ? item() : review());
  const back = button("back", () => (walk.back() ? item() : introduction()));
  const parts = itemScreen(walk, campaign, text, language, next, back, button("decline", declined));
  show(item, ofSurvey(walk.item.text), ...parts);
}

function review() {
  const submit = button("send", sendAll, true);
  const others = [button("back", item), button("decline", declined)];
  const parts = reviewScreen(walk, campaign, text, language, submit, ...others);
  show(review, text("review_title"), ...parts);
}

async function sendAll() {
  const answers = walk.take(); // gone from the page from here on
  sending();
  await guarded(async () => thanks(await person.answer(answers)));
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
  show(seat, text("seat_title"), paragraph(text("seat", hosts(campaign, language))), acts(button("seat_take", take, true), button("decline", declined)));
}

function seated() {
  show(seated, text("seated_title"), paragraph(text("seated")));
}

function question() {
  const form = questionForm(campaign, text, language, send, button("decline", declined));
  show(question, campaign.question, form);
}

async function send(value, covariates) {
  sending(); // the form is gone from here on
  await guarded(async () => thanks(await person.answer(value, { covariates })));
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
  if (isSurvey) return thanksForAll({ body, before });
  const { carded } = JSON.parse(body);
  show(
    () => thanks({ body, before }),
    text("thanks_title"),
    paragraph(text(before ? "thanks_before" : "thanks")),
    heading(2, text("sent")),
    paragraph(text("sent_to", hosts(campaign, language)), { class: "quiet" }),
    element("pre", { id: "sent", tabindex: "0", dir: "ltr", role: "region", "aria-label": text("sent") }, body),
    paragraph(text("sent_report")),
    campaign.dealers.length ? paragraph(text(carded ? "carded" : "cardless")) : "",
  );
}

function thanksForAll({ body, before }) {
  const label = { role: "region", "aria-label": text("sent") };
  const raw = element("pre", { id: "sent", tabindex: "0", dir: "ltr", ...label }, body);
  show(
    () => thanksForAll({ body, before }),
    text("thanks_title"),
    paragraph(text(before ? "survey_thanks_before" : "survey_thanks")),
    heading(2, text("sent")),
    paragraph(text("sent_to", hosts(campaign, language)), { class: "quiet" }),
    sentTable(body, campaign, text, language),
    paragraph(text("survey_sent")),
    element("details", {}, element("summary", {}, text("sent_bytes")), raw),
  );
}

function waiting() {
  show(waiting, text("waiting_title"), paragraph(text("waiting")), acts(button("retry", resume, true)));
}

function failed(error) {
  const kind = { UnreachableError: "unreachable", UnsupportedError: "unsupported" }[error.name];
  const named = `error_${kind ?? (error instanceof JrrError ? error.kind : "other")}`;
  const known = Object.hasOwn(TEXTS.en, named) ? named : "error_other";
  const retry = kind === "unreachable" ? acts(button("retry", () => location.reload(), true)) : "";
  show(() => failed(error), text("error_title"), paragraph(text(known)), retry);
}

/** Do something; what goes wrong is told in words that are ours. */
async function guarded(act) {
  try {
    await act();
  } catch (error) {
    const kept = error.name === "UnreachableError" && person && (await person.before().catch(() => null));
    if (kept) waiting();
    else failed(error);
  }
}

/** A browser that keeps nothing could make two reports of one answer: refuse early. */
async function openStorage() {
  try {
    storage = new IndexedDbStorage();
    await storage.add("works", "yes");
    spent = await new Ledger(storage).spent();
  } catch {
    throw new JrrError("storage", "this browser keeps nothing");
  }
}

for (const [tag, { language: name }] of Object.entries(TEXTS)) {
  picker.append(element("option", { value: tag, lang: tag }, name));
}
picker.value = language;
picker.addEventListener("change", () => {
  language = picker.value;
  screen();
});
about.addEventListener("toggle", async () => {
  const shown = document.getElementById("page-hash");
  shown.textContent = await pageHash().catch(() => "–");
}, { once: true });
window.addEventListener("online", () => {
  if (screen === waiting) resume();
});
// Whoever presses "back" later must not find a form that is filled in.
window.addEventListener("pagehide", () => {
  walk?.forget();
  if ([question, item, review].includes(screen)) main.replaceChildren();
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
window.addEventListener("hashchange", () => location.reload());

loading();
await guarded(async () => {
  // Headers forbid it too, but not every web server sends them; a frame may be dressed up.
  if (window.top !== window.self) throw new JrrError("framed", "the page must not be in a frame");
  await openStorage();
  campaign = await asked(newPerson());
  // A link with a mistyped invitation is told at once, before anything is agreed to.
  if (given.has("invitation") && !invitationIsFine(given.get("invitation"))) invitation(true);
  else introduction();
});
