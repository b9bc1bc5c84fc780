// A questionnaire: items that are asked of the same person, each sensitive (changed on this device)
// or open (sent as it is). Which items somebody is asked depends on open answers only.

import { isObject, isText } from "./campaign.js";
import { DamagedError } from "./errors.js";

export const KINDS = ["yes-no", "choice", "several", "scale", "number"];
export const NO_YES = ["no", "yes"]; // the answers to "yes-no", in documents
export const PREFER_NOT = "prefer not to say"; // one more answer, where an item has it
const TOP = ["title", "languages", "epsilon", "split", "waves", "items"];
const MOST_ITEMS = 200;
const MOST_LABELS = 1000;
const MOST_WAVES = 1000;
const NAME = /^[\p{ID_Start}_]\p{ID_Continue}{0,59}$/u;

function check(fits, field) {
  if (!fits) throw new DamagedError("survey", `${field} of the questionnaire is not acceptable`);
}

function checkFields(document, needed, optional, what) {
  check(isObject(document), what);
  const known = [...needed, ...optional];
  check(Object.keys(document).every((name) => known.includes(name)), what);
  check(needed.every((name) => Object.hasOwn(document, name)), what);
}

/** A text in each of the languages, and in no other. */
function isTexts(value, languages, most = 2000) {
  return (
    isObject(value) &&
    Object.keys(value).length === languages.length &&
    languages.every((language) => Object.hasOwn(value, language) && isText(value[language], most))
  );
}

function checkLabels(item, languages) {
  const { kind, labels, name } = item;
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

/** Branches on open items before it only: that an item was shown must tell no sensitive answer. */
function checkBranches({ only_if: branches = {}, name }, before) {
  check(isObject(branches), name);
  for (const [other, answers] of Object.entries(branches)) {
    const found = before.find((item) => item.name === other);
    check(found !== undefined && !found.sensitive, `only_if of ${name}`);
    check(Array.isArray(answers) && answers.every((one) => typeof one === "string"), name);
  }
}

function checkItem(item, languages, before) {
  const optional = ["labels", "low", "high", "weight", "margin", "only_if"];
  checkFields(item, ["name", "kind", "text", "sensitive", "prefer_not"], optional, "an item");
  const { name, kind, sensitive, prefer_not: preferNot } = item;
  check(typeof name === "string" && NAME.test(name) && name !== "__proto__", "a name");
  check(!before.some((other) => other.name === name), `${name}, which is there twice`);
  check(KINDS.includes(kind) && isTexts(item.text, languages), name);
  check(typeof sensitive === "boolean" && typeof preferNot === "boolean", name);
  check(!(preferNot && sensitive && kind === "number"), name);
  checkLabels(item, languages);
  checkEnds(item);
  checkBranches(item, before);
}

/**
 * Refuse what is no questionnaire.
 *
 * @throws {DamagedError} A field is missing, unknown or out of its range, or an item would be shown
 *   because of a sensitive answer.
 */
export function checkQuestionnaire(document) {
  checkFields(document, TOP, ["by", "contact"], "fields");
  const { languages, items, title, waves } = document;
  const isCode = (code) => typeof code === "string" && /^[\p{L}-]{1,20}$/u.test(code);
  check(Array.isArray(languages) && languages.length > 0 && languages.every(isCode), "languages");
  check(new Set(languages).size === languages.length, "languages");
  check(isTexts(title, languages), "title");
  for (const name of ["by", "contact"]) {
    check(document[name] === undefined || isTexts(document[name], languages, 500), name);
  }
  check(Number.isSafeInteger(waves) && waves >= 1 && waves <= MOST_WAVES, "waves");
  check(Array.isArray(items) && items.length >= 1 && items.length <= MOST_ITEMS, "items");
  for (const [at, item] of items.entries()) checkItem(item, languages, items.slice(0, at));
  check(items.some(({ sensitive }) => sensitive), "items: none is sensitive");
  return document;
}

/** The answers that can be told apart, in the first language; for "several" of each label. */
export function answersOf(item, [language]) {
  let words = NO_YES;
  if (item.kind === "number") return [];
  if (item.kind === "choice") words = item.labels.map((label) => label[language]);
  if (item.kind === "scale") {
    words = Array.from({ length: item.high - item.low + 1 }, (_, at) => String(item.low + at));
  }
  return item.prefer_not ? [...words, PREFER_NOT] : words;
}

/** The perturbed answers: each of an item, `label` being which of its labels where it has several. */
export function partsOf({ items }) {
  return items
    .filter(({ sensitive }) => sensitive)
    .flatMap((item) => {
      if (item.kind !== "several") return [{ name: item.name, item, label: null }];
      return item.labels.map((_, label) => ({ name: `${item.name}.${label + 1}`, item, label }));
    });
}
