// The answer page: one question, one person, one report. What is chosen lives in the form until
// "Send" is pressed, then in one variable until the report is made, and nowhere else.

import { Contributor, IndexedDbStorage, JrrError, cost, invitationSecret } from "../src/index.js";
import { TEXTS, chosenLanguage, say } from "./texts.js";

const LIMIT = 5; // the page refuses to answer where more would be told
const PATIENCE = 10; // seconds to wait for each server

const main = document.getElementById("main");
const picker = document.getElementById("language");
const given = new URLSearchParams(location.hash.slice(1)); // never sent to any server
let language = chosenLanguage([given.get("language") ?? "", ...navigator.languages]);
let screen = loading; // what is shown, so that it can be shown again in another language
let storage;
let person;
let campaign;
let consented = false;

const text = (key, gaps) => say(language, key, gaps);

/** An element; texts are children, never markup, so that nothing in a campaign can be a script. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name === "className" ? "class" : name, value);
  }
  made.append(...children);
  return made;
}

const paragraph = (words, properties) => element("p", properties, words);
/** Words of a campaign: in their own direction, lines as they were written. */
const foreign = (tag, words, more = "") =>
  element(tag, { dir: "auto", class: `keep-lines ${more}` }, words);
const button = (key, act, first = false) =>
  element("button", { type: "button", class: first ? "first" : "other", onclick: act }, text(key));

/** Show a screen and tell screen readers where they are. */
function show(drawn, title, ...children) {
  screen = drawn;
  document.documentElement.lang = language;
  document.title = text("title");
  document.getElementById("language-label").textContent = text("choose_language");
  const heading = element("h1", { tabindex: "-1" }, title);
  if (title === campaign?.question) {
    heading.dir = "auto";
    heading.className = "keep-lines";
  }
  main.replaceChildren(heading, ...children);
  heading.focus();
}

function loading() {
  show(loading, text("loading"));
}

function sending() {
  show(sending, text("sending"));
}

const rounded = (number, digits) =>
  (Math.ceil(number * 10 ** digits) / 10 ** digits).toLocaleString(language); // never less

function names() {
  const host = ({ url }) => new URL(url).host;
  const list = new Intl.ListFormat(language);
  const dealers = list.format(campaign.dealers.map(host));
  return { collector: host({ url: campaign.collector }), dealers };
}

function introduction() {
  const { epsilon, view } = cost(campaign);
  const hosts = names();
  const deals = campaign.dealers.length > 0;
  const second = deals ? (campaign.dealers.length > 1 ? "safe_2_cards" : "safe_2_card") : "safe_2_alone";
  const reasons = [
    text(deals ? "safe_1_card" : "safe_1_alone"),
    text(second, hosts),
    text("safe_3", { factor: rounded(Math.exp(epsilon), 1) }),
  ];
  const against = text(`against_${view}`, hosts);
  const details = [text("details_cost", { epsilon: rounded(epsilon, 3), against })];
  if (deals && view !== "dealer") {
    const worst = rounded(campaign.losses.dealer, 3);
    details.push(text("details_dealer", { ...hosts, epsilon: worst }));
  }
  if (!campaign.invitations) details.push(text("details_public"));
  const { mechanism, hash } = campaign;
  details.push(text("details_mechanism", { mechanism: mechanism.mechanism, hash }));
  show(
    introduction,
    text("title"),
    paragraph(text("who", hosts)),
    campaign.consent.trim() ? foreign("p", campaign.consent) : "",
    element("h2", {}, text("safe_title")),
    element("ol", {}, ...reasons.map((reason) => element("li", {}, reason))),
    element(
      "details",
      {},
      element("summary", {}, text("details")),
      ...details.map((line) => paragraph(line, { class: "quiet" })),
    ),
    element("div", { class: "acts" }, button("agree", agreed, true), button("decline", declined)),
  );
}

function declined() {
  consented = false;
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
    "aria-describedby": "hint problem",
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
    element("div", { class: "acts" }, element("button", { class: "first" }, text("next"))),
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
  return new Contributor(given.get("campaign") ?? "", settings);
}

async function agreed() {
  consented = true;
  if (!invitationIsFine(given.get("invitation"))) {
    invitation(given.has("invitation"));
    return;
  }
  loading();
  await guarded(async () => {
    person = newPerson();
    await person.campaign();
    if (await person.before()) return resume();
    await person.checkReady();
    return question();
  });
}

function question() {
  const choices = campaign.labels.map((label, value) =>
    element(
      "label",
      { class: "choice" },
      element("input", { type: "radio", name: "answer", value: String(value), autocomplete: "off" }),
      foreign("span", label),
    ),
  );
  const attributes = Object.entries(campaign.covariates).map(([name, values], at) =>
    element(
      "div",
      { class: "field" },
      element("label", { for: `about-${at}`, dir: "auto" }, name),
      element(
        "select",
        { id: `about-${at}`, autocomplete: "off" },
        element("option", { value: "" }, "—"),
        ...values.map((value, number) => element("option", { value: String(number) }, value)),
      ),
    ),
  );
  const problem = paragraph("", { class: "wrong", role: "alert" });
  const form = element(
    "form",
    { autocomplete: "off" },
    element("fieldset", {}, element("legend", {}, text("answers")), ...choices),
    attributes.length
      ? element("fieldset", {}, element("legend", {}, text("about_you")), ...attributes)
      : "",
    problem,
    element("div", { class: "acts" }, element("button", { class: "first" }, text("send")), button("decline", declined)),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = form.querySelector("input:checked");
    const selects = [...form.querySelectorAll("select")];
    const missing = chosen ? selects.find((select) => select.value === "") : choices[0].firstChild;
    if (missing) {
      problem.textContent = text("choose");
      missing.focus();
      return;
    }
    const covariates = Object.fromEntries(
      Object.entries(campaign.covariates).map(([name, values], at) => [name, values[selects[at].value]]),
    );
    const value = Number(chosen.value);
    form.reset();
    send(value, covariates);
  });
  show(question, campaign.question, form);
}

async function send(value, covariates) {
  sending(); // the form is gone from here on
  await guarded(async () => thanks(await person.answer(value, { covariates })));
}

async function resume() {
  sending();
  await guarded(async () => thanks({ ...(await person.resume()), before: true }));
}

function thanks({ body, before }) {
  const document_ = JSON.parse(body);
  show(
    () => thanks({ body, before }),
    text("thanks_title"),
    paragraph(text(before ? "thanks_before" : "thanks")),
    element("h2", {}, text("sent")),
    paragraph(text("sent_to", names()), { class: "quiet" }),
    element("pre", { id: "sent", tabindex: "0", dir: "ltr" }, body),
    paragraph(text("sent_report")),
    campaign.dealers.length ? paragraph(text(document_.carded ? "carded" : "cardless")) : "",
  );
}

function waiting() {
  const again = button("retry", resume, true);
  show(waiting, text("waiting_title"), paragraph(text("waiting")), element("div", { class: "acts" }, again));
}

function failed(error) {
  const kind = { UnreachableError: "unreachable", UnsupportedError: "unsupported" }[error.name];
  const named = `error_${kind ?? (error instanceof JrrError ? error.kind : "other")}`;
  const known = Object.hasOwn(TEXTS.en, named) ? named : "error_other";
  const retry = kind === "unreachable" ? button("retry", () => location.reload(), true) : "";
  show(() => failed(error), text("error_title"), paragraph(text(known)), element("div", { class: "acts" }, retry));
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
window.addEventListener("online", () => {
  if (screen === waiting) resume();
});
// Whoever presses "back" later must not find a form that is filled in.
window.addEventListener("pagehide", () => {
  if (screen === question) main.replaceChildren();
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
window.addEventListener("hashchange", () => location.reload());

loading();
await guarded(async () => {
  await openStorage();
  campaign = await newPerson().campaign();
  // A link with a mistyped invitation is told at once, before anything is agreed to.
  if (given.has("invitation") && !invitationIsFine(given.get("invitation"))) invitation(true);
  else introduction();
});
