// Answers that are perturbed together, with one coin for all of them (docs/protocol.md).
//
// With the chance `keep` the device takes all true answers, otherwise all of them are drawn evenly.
// What they lose is counted once, for all of them. Each person is asked `ask` of these questions:
// which ones follows from the survey and the person's name at the collector, so nobody can choose.

import { check, hasFields, hashOf, isWhole } from "./checks.js";
import { canonicalJson } from "./documents.js";
import { losses } from "./loss.js";
import { lieOf, toss } from "./mask_coins.js";
import { withMask } from "./masks.js";
import { secureWords } from "./mechanisms.js";

const SAME = ["mechanism", "n", "card_rate", "total_rate", "announced_rate", "dealers", "announcements"];
const MOST_COMBINATIONS = 4096;

const isChance = (value) => typeof value === "number" && value > 0 && value < 1;

/** The chance that one of so many values is told truly; the same operations as in Python. */
const truthOf = (keep, values) => keep + (1 - keep) / values;

/** The coin for items with these numbers of values; of one item it is the plain one. */
function coinFor(sizes) {
  const k = sizes.reduce((product, size) => product * size, 1);
  return { k, coin: sizes.length > 1 ? ["block", ...sizes] : "rr" };
}

const MANY = 13; // items that have too many combinations, whatever they are
const MOST_CHOICES = 16;

/** As many items of each size as anybody may be asked. */
function boundOf(questions, asked) {
  const found = [];
  for (const size of [...new Set(questions.flat())].sort((a, b) => b - a)) {
    const asLarge = questions.map((items) => items.filter((one) => one >= size).length);
    const most = asLarge.sort((a, b) => b - a).slice(0, asked).reduce((total, count) => total + count, 0);
    while (found.length < most) found.push(size);
  }
  return found;
}

/** The choices that no other one has as many items for, each with as many answers; each once. */
function largest(choices) {
  const once = [...new Map(choices.map((one) => [one.join(), one])).values()];
  const covers = (other, one) =>
    other !== one && other.length >= one.length && one.every((size, at) => other[at] >= size);
  return once.filter((one) => !once.some((other) => covers(other, one)));
}

/** The items of people who are asked the most: nobody else loses more (as Python's most_asked). */
function mostAsked(questions, ask) {
  const asked = Math.min(ask, MANY);
  const chosen = [[[]], ...Array.from({ length: asked }, () => [])];
  for (const items of questions) {
    for (let count = asked; count > 0; count--) {
      const more = chosen[count - 1].map((one) => [...one, ...items].sort((a, b) => b - a).slice(0, MANY));
      chosen[count] = largest([...chosen[count], ...more]);
      if (chosen[count].length > MOST_CHOICES) return [boundOf(questions, asked)];
    }
  }
  return chosen[asked];
}

/** The names of questions that are not for the person with this name at the collector (index.d.ts). */
export async function notAsked({ hash, panel, together }, person) {
  const survey = panel ?? hash; // in all waves the same questions
  const left = new Set();
  for (const { questions, ask } of together) {
    const places = await Promise.all(questions.map(async (question) =>
      [await hashOf(new TextEncoder().encode(canonicalJson({ survey, person, question }))), question]));
    for (const [, question] of places.sort(([a], [b]) => (a < b ? -1 : 1)).slice(ask)) left.add(question);
  }
  return left;
}

/** Masks over one coin, or the coin alone (RR), which has one chance. */
function fits({ question, mechanism }, first, { keep, alone }) {
  const { k, p } = mechanism;
  const own = mechanism.mechanism === "RR"
    ? keep === alone
    : mechanism.mechanism === "MRR" && mechanism.coin === "rr" && mechanism.alone === truthOf(alone, k);
  return own && question.kind !== "number" && p === truthOf(keep, k) &&
    SAME.every((name) => mechanism[name] === first.mechanism[name]);
}

/** The perturbed answers, those that share a coin with what all of them lose. */
export function readTogether(stated, sensitive) {
  check(Array.isArray(stated), "together");
  const found = new Map();
  for (const one of stated) {
    check(hasFields(one, ["questions", "ask", "keep", "alone"]) && Array.isArray(one.questions), "together");
    check(isChance(one.keep) && isChance(one.alone), "together");
    check(isWhole(one.ask, 1) && one.ask <= one.questions.length, "together");
    const own = sensitive.filter(({ question }) => one.questions.includes(question.name));
    const names = new Set(own.map(({ question }) => question.name));
    check(own.length > 1 && names.size === one.questions.length, "together");
    check(own.every((answer) => !found.has(answer.name) && fits(answer, own[0], one)), "together");
    const sizes = one.questions.map((name) =>
      own.filter(({ question }) => question.name === name).map(({ mechanism }) => mechanism.k));
    const lost = { report: 0, everything: 0, dealer: 0 };
    for (const { k, coin } of mostAsked(sizes, one.ask).map(coinFor)) {
      check(k <= MOST_COMBINATIONS, "together");
      const all = losses({ ...own[0].mechanism, k, coin, p: truthOf(one.keep, k), alone: truthOf(one.alone, k) });
      for (const view of Object.keys(lost)) lost[view] = Math.max(lost[view], all[view]);
    }
    const joint = Object.freeze({ keep: one.keep, alone: one.alone, losses: lost, everything: lost.everything });
    for (const answer of own) found.set(answer.name, joint);
  }
  return sensitive.map((answer) => {
    const joint = found.get(answer.name);
    if (joint === undefined) return answer;
    return Object.freeze({ ...answer, joint, losses: joint.losses, everything: joint.everything });
  });
}

/** What losses are counted of: answers that share a coin once. */
export const counted = (answers) => [...new Set(answers.map((answer) => answer.joint ?? answer))];

/** The reports of answers that share a coin; cards of all of them, or null. */
export function jointReports({ keep, alone }, mechanisms, values, cards, words = secureWords) {
  const sizes = mechanisms.map(({ k }) => k);
  const coin = coinFor(sizes);
  const value = sizes.reduce((told, size, item) => told * size + values[item], 0);
  const lie = lieOf(coin, truthOf(cards === null ? alone : keep, coin.k));
  let marks = toss(coin, value, lie, () => words(1)[0]);
  return mechanisms.map((mechanism, item) => {
    const own = marks.slice(0, mechanism.k === 2 ? 1 : mechanism.k);
    marks = marks.slice(own.length);
    if (mechanism.mechanism === "RR") return mechanism.k === 2 ? own[0] : own.indexOf(1);
    return withMask(mechanism, own, cards === null ? null : cards[item]);
  });
}
