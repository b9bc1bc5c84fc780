// The questions of a survey, each sensitive (changed on this device) or open (sent as it is). Which
// of them somebody is asked depends on open answers only.

import { check, hasFields, isObject, isText } from "./checks.js";

export const KINDS = ["yes-no", "choice", "several", "scale", "number"];
export const NO_YES = ["no", "yes"]; // the answers to "yes-no", in documents
export const PREFER_NOT = "prefer not to say"; // one more answer, where a question has it
const MOST_QUESTIONS = 200;
const MOST_LABELS = 1000;
const OTHER_WAVES = ["answered_wave_before", "answered_wave_after"]; // who answered them: nobody is asked
const NAME = /^[\p{ID_Start}_]\p{ID_Continue}{0,59}$/u;
const FIELDS = ["name", "kind", "text", "sensitive"];
const OPTIONAL = [
  "prefer_not", "or_less", "or_more", "section", "labels", "low", "high", "only_if", "crossed", "mechanism", "everything",
];

/** A text in each of the languages, and in no other. */
export function isTexts(value, languages, most = 2000) {
  return (
    isObject(value) &&
    Object.keys(value).length === languages.length &&
    languages.every((language) => Object.hasOwn(value, language) && isText(value[language], most))
  );
}

function checkLabels({ kind, labels, name }, languages) {
  if (kind !== "choice" && kind !== "several") return check(labels === undefined, name);
  const fewest = kind === "choice" ? 2 : 1;
  check(Array.isArray(labels) && labels.length >= fewest && labels.length <= MOST_LABELS, name);
  check(labels.every((label) => isTexts(label, languages)), name);
  for (const language of languages) {
    check(new Set(labels.map((label) => label[language])).size === labels.length, name);
  }
}

function checkEnds({ kind, low, high, name }) {
  if (kind !== "scale" && kind !== "number") {
    return check(low === undefined && high === undefined, name);
  }
  check(Number.isFinite(low) && Number.isFinite(high) && low < high, name);
  if (kind === "scale") check(Number.isInteger(low) && Number.isInteger(high) && high - low <= 100, name);
}

/** Branches on open questions before it only: that one was shown must tell no sensitive answer. */
function checkBranches({ only_if: branches = {}, name }, before) {
  check(isObject(branches), name);
  for (const [other, answers] of Object.entries(branches)) {
    const found = before.find((question) => question.name === other);
    check(found !== undefined && !found.sensitive, `only_if of ${name}`);
    check(Array.isArray(answers) && answers.every((one) => typeof one === "string"), name);
  }
}

function checkQuestion(question, languages, before) {
  check(hasFields(question, FIELDS, OPTIONAL), "a question");
  const { name, kind, sensitive, prefer_not: preferNot = false, or_less: orLess = false, or_more: orMore = false } = question;
  check(typeof name === "string" && NAME.test(name) && name !== "__proto__" && !OTHER_WAVES.includes(name), "a name");
  check(!before.some((other) => other.name === name), `${name}, which is there twice,`);
  check(KINDS.includes(kind) && isTexts(question.text, languages), name);
  check(typeof sensitive === "boolean" && typeof preferNot === "boolean", name);
  check(!(preferNot && sensitive && kind === "number"), name);
  check(typeof orLess === "boolean" && typeof orMore === "boolean" && (kind === "number" || !(orLess || orMore)), name);
  check(question.section === undefined || isTexts(question.section, languages), `section of ${name}`);
  check(sensitive === isObject(question.mechanism), `mechanism of ${name}`);
  checkLabels(question, languages);
  checkEnds(question);
  checkBranches(question, before);
}

/**
 * Refuse what are no questions.
 *
 * @throws {DamagedError} A field is missing, unknown or out of its range, or a question would be
 *   shown because of a sensitive answer.
 */
export function checkQuestions(questions, languages) {
  check(Array.isArray(questions) && questions.length >= 1 && questions.length <= MOST_QUESTIONS, "questions");
  for (const [at, question] of questions.entries()) {
    checkQuestion(question, languages, questions.slice(0, at));
  }
  check(questions.some(({ sensitive }) => sensitive), "questions, of which none is sensitive,");
  return questions;
}

/** What is told of a number: beyond an end that stands for more, that end. */
export function told({ low, high, or_less: orLess, or_more: orMore }, number) {
  if (!Number.isFinite(number)) return number; // refused by whoever asked
  return Math.min(Math.max(number, orLess ? low : -Infinity), orMore ? high : Infinity);
}

/** The answers that can be told apart, in the first language; for "several" of each label. */
export function answersOf(question, [language]) {
  let words = NO_YES;
  if (question.kind === "number") return [];
  if (question.kind === "choice") words = question.labels.map((label) => label[language]);
  if (question.kind === "scale") {
    words = Array.from({ length: question.high - question.low + 1 }, (_, at) => String(question.low + at));
  }
  return question.prefer_not ? [...words, PREFER_NOT] : words;
}
