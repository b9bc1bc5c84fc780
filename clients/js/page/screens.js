// The screens of a survey: what a person reads before the first, each question, what
// is sent, and what was sent.

import { costTable } from "../src/costs.js";
import { answersOf } from "../src/questions.js";
import { COST } from "../src/survey.js";
import { acts, badge, element, foreign, paragraph, wide } from "./elements.js";
import { consentDetails, fold, hosts, ownDetails, protection, whoAsks, whomToAsk } from "./introduction.js";
import { questionForm } from "./question.js";

/** The survey's language that comes next to the page's. */
export function surveyLanguage({ languages }, language) {
  const prefix = (tag) => tag.toLowerCase().split("-")[0];
  return languages.find((tag) => tag === language)
    ?? languages.find((tag) => prefix(tag) === prefix(language))
    ?? languages[0];
}

/** Words of a survey: in their own language and direction. */
export const inLanguage = (tag, words, lang, more = "") => {
  const made = foreign(tag, words, more);
  made.lang = lang;
  return made;
};

/** Until when answers are taken; both times where it is later than the survey itself says. */
function closingTime(survey, text, language, closes) {
  const shown = (time) => new Date(time).toLocaleString(language, { dateStyle: "long", timeStyle: "short" });
  const until = { until: shown(closes) };
  if (closes === survey.closes || !survey.closes) return text("closes", until);
  return text("closes_later", { ...until, before: shown(survey.closes) });
}

/** What is read before anything is asked. */
export function surveyIntroduction(survey, text, language, spent, closes) {
  const shown = surveyLanguage(survey, language);
  const [before, after] = survey.consent[shown].split(COST).map((words) =>
    words.split(/\n{2,}/u).filter((block) => block.trim()).map((block) => inLanguage("p", block, shown)));
  const { by, contact, questions } = survey;
  const leftOut = survey.together.reduce((sum, one) => sum + one.questions.length - one.ask, 0);
  const count = { count: String(questions.length - leftOut) };
  const mechanisms = [...new Set(survey.sensitive.map(({ mechanism }) => mechanism.mechanism))];
  const table = costTable(survey);
  return [
    whoAsks(text, questions.length > 1 ? "survey_who" : "who", hosts(survey, language), by?.[shown], count),
    whomToAsk(text, contact?.[shown]),
    survey.pilot ? paragraph(text("pilot")) : "",
    closes ? paragraph(closingTime(survey, text, language, closes), { class: "quiet" }) : "",
    ...before,
    ...protection(survey, table, text, before.length + after.length > 0),
    ...after,
    fold(
      survey,
      text,
      language,
      ...consentDetails(survey, text, language, shown),
      ...ownDetails(survey, table, mechanisms, text, language, spent),
    ),
  ];
}

/** The same in words. */
export const progressWords = ({ at, of }, text) => text("progress", { at: String(at), of: String(of) });

/** How far the person has come. */
function progress({ at, of }, text) {
  const told = progressWords({ at, of }, text);
  return element(
    "div",
    { class: "progress" },
    element("span", {}, told),
    element("progress", { value: String(at - 1), max: String(of), "aria-label": told }),
  );
}

/** The answer that is tried out: the first that has labels, with these in the person's language. */
export function tried(survey, text, language) {
  const { sensitive, together } = survey;
  const { question, mechanism } = sensitive.find((one) => one.question.kind !== "number") ?? sensitive[0];
  const shown = surveyLanguage(survey, language);
  let labels = question.kind === "number" ? [question.low, question.high].map(String) : answersOf(question, survey.languages);
  if (question.kind === "choice") labels = question.labels.map((label) => label[shown]);
  if (question.kind === "yes-no" || question.kind === "several") labels = [text("no"), text("yes")];
  if (question.prefer_not) labels = [...labels.slice(0, mechanism.k - 1), text("prefer_not")];
  const sharing = together.find(({ questions }) => questions.includes(question.name));
  return { mechanism, labels, shared: sharing?.ask ?? 1 };
}

/** One question: how far it is, what becomes of the answer, and the form. */
export function questionScreen(walk, survey, text, language, onNext, ...buttons) {
  const { languages, questions } = survey;
  const words = { text, language, languages, shown: surveyLanguage(survey, language) };
  return [
    questions.length > 1 ? progress(walk.progress, text) : "",
    badge(text, walk.question.sensitive ? "changed" : "open"),
    questionForm(walk.question, walk.chosen, words, onNext, ...buttons),
  ];
}

/** An open answer as a person reads it. */
function readable(question, answer, survey, text, language) {
  const shown = surveyLanguage(survey, language);
  const first = survey.languages[0];
  const label = (word) => question.labels.find((one) => one[first] === word)[shown];
  if (answer === null) return text("prefer_not");
  if (Array.isArray(answer)) return answer.length ? answer.map(label).join(", ") : "–";
  if (typeof answer === "number") return answer.toLocaleString(language);
  return question.kind === "yes-no" ? text(answer) : label(answer);
}

/** What will be sent: open answers as they are; of the others, that they are changed first. */
export function reviewScreen(walk, survey, text, language, send, ...buttons) {
  const shown = surveyLanguage(survey, language);
  const problem = paragraph("", { class: "wrong", id: "problem", role: "alert" });
  const submit = () => (navigator.onLine === false ? (problem.textContent = text("offline")) : send());
  const rows = walk.open.flatMap(([question, answer]) => [
    inLanguage("dt", question.text[shown], shown),
    element("dd", { dir: "auto" }, readable(question, answer, survey, text, language)),
  ]);
  return [
    paragraph(text("review_changed", { count: String(walk.sensitive) })),
    ...(rows.length ? [paragraph(text("review_open")), element("dl", {}, ...rows)] : []),
    problem,
    acts(element("button", { type: "button", class: "first", onclick: submit }, text("send")), ...buttons),
  ];
}

/** Which words of thanks are true: nothing is said of a card that was not there. */
export function thanksKey({ questions }, body, before) {
  const { reports } = JSON.parse(body);
  const all = questions.length > 1 ? "survey_" : "";
  const hidden = Object.values(reports).every((one) => one.carded);
  return before ? "thanks_before" : `${all}thanks${hidden ? "" : "_alone"}`;
}

/** Whether there should have been cards and none was to be had. */
export function lacksCards({ dealing }, body) {
  return dealing.dealers.length > 0 && !Object.values(JSON.parse(body).reports).some((one) => one.carded);
}

/** Whether a number was sent to which a card was added, so that it looks like no answer at all. */
export function tellsCardSums({ sensitive }, body) {
  const { reports } = JSON.parse(body);
  return sensitive.some(({ name, mechanism }) => reports[name]?.carded && mechanism.mechanism === "MRR");
}

/** What was sent, question by question. */
export function sentTable(body, survey, text, language) {
  const { open, reports } = JSON.parse(body);
  const shown = surveyLanguage(survey, language);
  const row = (words, value, kind, more = {}) =>
    element(
      "tr",
      {},
      element("th", { scope: "row", dir: "auto", lang: shown }, words),
      element("td", { dir: "auto", ...more }, value),
      element("td", {}, text(kind)),
    );
  const asItIs = survey.questions
    .filter(({ name }) => Object.hasOwn(open, name))
    .map((question) =>
      row(question.text[shown], readable(question, open[question.name], survey, text, language), "sent_open"));
  const changed = survey.sensitive
    .filter(({ name }) => Object.hasOwn(reports, name))
    .map(({ name, question, label }) => {
      const more = label === null ? "" : ` – ${question.labels[label][shown]}`;
      const { report, carded } = reports[name];
      const isBytes = typeof report === "string";
      const told = isBytes ? report : JSON.stringify(report).replaceAll(",", ", ");
      const how = carded ? "sent_carded" : "sent_changed";
      return row(question.text[shown] + more, told, how, isBytes ? { class: "bytes" } : {});
    });
  const head = ["sent_question", "sent_value", "sent_how"].map((key) =>
    element("th", { scope: "col" }, text(key)),
  );
  const rows = element("tbody", {}, ...asItIs, ...changed);
  return wide(text("sent"), element("table", {}, element("thead", {}, element("tr", {}, ...head)), rows));
}
