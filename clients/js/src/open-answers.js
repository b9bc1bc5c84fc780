// Open answers: sent as they are, checked here, and what they decide about later questions.

import { ArgumentError } from "./errors.js";
import { NO_YES, told } from "./questions.js";

const DIGITS = 6;

/** A number as conditions name it: six digits, as Python's format "g" writes it. */
export function asCondition(number) {
  if (number === 0) return Object.is(number, -0) ? "-0" : "0";
  const [digits, power] = number.toExponential(DIGITS - 1).split("e");
  const exponent = Number(power);
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/u, "") : text);
  if (exponent >= -4 && exponent < DIGITS) return trimmed(number.toFixed(DIGITS - 1 - exponent));
  const sign = exponent < 0 ? "-" : "+";
  return `${trimmed(digits)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function words(answer, { kind }) {
  if (answer === null || answer === undefined) return [];
  if (Array.isArray(answer)) return answer;
  return [kind === "number" ? asCondition(answer) : String(answer)];
}

/**
 * Whether a question is shown to somebody with these open answers: every condition must hold. A question
 * that was not shown itself has no answer, and so none that a condition could name.
 */
export function isAsked({ questions }, question, answers) {
  return Object.entries(question.only_if ?? {}).every(([name, wanted]) => {
    const other = questions.find((one) => one.name === name);
    const answer = Object.hasOwn(answers, name) ? answers[name] : null;
    return words(answer, other).some((word) => wanted.includes(word));
  });
}

/** Whether it is a number, or a whole one, between a question's ends. */
const isBetween = (value, { low, high }) =>
  typeof value === "number" && Number.isFinite(value) && value >= low && value <= high;

/** One open answer; the refusal does not repeat it. */
function checked(question, answer, [language]) {
  const refusal = () => new ArgumentError("answers", `the answer to ${question.name} is none of its question's`);
  if (answer === null) {
    if (question.prefer_not) return null;
    throw refusal();
  }
  if (question.kind === "number" || question.kind === "scale") {
    const number = told(question, answer);
    if (isBetween(number, question) && (question.kind === "number" || Number.isInteger(number))) return number;
    throw refusal();
  }
  const known = question.labels?.map((label) => label[language]) ?? NO_YES;
  if (question.kind === "several") {
    const isList = Array.isArray(answer) && new Set(answer).size === answer.length;
    if (!isList || !answer.every((one) => known.includes(one))) throw refusal();
    return known.filter((word) => answer.includes(word));
  }
  if (!known.includes(answer)) throw refusal();
  return answer;
}

/** The open answers of one person: of exactly the open questions that were shown (index.d.ts). */
export function checkOpenAnswers(survey, given) {
  const found = {};
  for (const question of survey.questions.filter(({ sensitive }) => !sensitive)) {
    if (!isAsked(survey, question, found)) continue;
    if (!Object.hasOwn(given, question.name)) {
      throw new ArgumentError("answers", `answers must have one to ${question.name}`);
    }
    found[question.name] = checked(question, given[question.name], survey.languages);
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(found, name)) {
      throw new ArgumentError("answers", "open answers must be of questions that are asked");
    }
  }
  return found;
}
