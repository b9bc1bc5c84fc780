// Open answers: sent as they are, checked here, and what they decide about later items.

import { ArgumentError } from "./errors.js";
import { NO_YES, answersOf } from "./questionnaire.js";

const NOT_ASKED = "not asked"; // stands for the answer of somebody whom the item was not shown
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
 * Whether an item is shown to somebody with these open answers: every condition must hold. An item
 * that was not shown itself has no answer, and so none that a condition could name.
 */
export function isAsked({ items }, item, answers) {
  return Object.entries(item.only_if ?? {}).every(([name, wanted]) => {
    const other = items.find((one) => one.name === name);
    const answer = Object.hasOwn(answers, name) ? answers[name] : null;
    return words(answer, other).some((word) => wanted.includes(word));
  });
}

/** Whether it is a number, or a whole one, between an item's ends. */
const isBetween = (value, { low, high }) =>
  typeof value === "number" && Number.isFinite(value) && value >= low && value <= high;

/** One open answer; the refusal does not repeat it. */
function checked(item, answer, [language]) {
  const refusal = () => new ArgumentError("answers", `the answer to ${item.name} is none of its item's`);
  if (answer === null) {
    if (item.prefer_not) return null;
    throw refusal();
  }
  if (item.kind === "number" || item.kind === "scale") {
    const fits = isBetween(answer, item) && (item.kind === "number" || Number.isInteger(answer));
    if (fits) return answer;
    throw refusal();
  }
  const known = item.labels?.map((label) => label[language]) ?? NO_YES;
  if (item.kind === "several") {
    const isList = Array.isArray(answer) && new Set(answer).size === answer.length;
    if (!isList || !answer.every((one) => known.includes(one))) throw refusal();
    return known.filter((word) => answer.includes(word));
  }
  if (!known.includes(answer)) throw refusal();
  return answer;
}

/** The open answers of one person: of exactly the open items that were shown (index.d.ts). */
export function checkOpenAnswers(questionnaire, given) {
  const found = {};
  for (const item of questionnaire.items.filter(({ sensitive }) => !sensitive)) {
    if (!isAsked(questionnaire, item, found)) continue;
    if (!Object.hasOwn(given, item.name)) {
      throw new ArgumentError("answers", `answers must have one to ${item.name}`);
    }
    found[item.name] = checked(item, given[item.name], questionnaire.languages);
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(found, name)) {
      throw new ArgumentError("answers", "open answers must be of items that are asked");
    }
  }
  return found;
}

/** The open items by whose answers results can be grouped, with all their values. */
export function covariatesOf({ items, languages }) {
  const grouping = items.filter(
    ({ sensitive, kind }) => !sensitive && ["yes-no", "choice", "scale"].includes(kind),
  );
  return Object.fromEntries(
    grouping.map((item) => {
      const branches = Object.keys(item.only_if ?? {}).length > 0;
      const values = answersOf(item, languages);
      return [item.name, branches ? [...values, NOT_ASKED] : values];
    }),
  );
}
