// The mechanisms: (parameters, value, card, random words) -> report, in whole numbers
// (docs/protocol.md).
//
// Each says which fields it has, how many words a report takes (but for rare ties), which cards
// there are and what a report is. Reports and cards are plain JSON values.

import { DRR, JRR, RR } from "./coins.js";
import { OLH, OUE, SS, SUE, hashBucket, namedValues } from "./encodings.js";
import { ArgumentError, DamagedError, UnsupportedError } from "./errors.js";
import { itemsOf } from "./mask_coins.js";
import { MRR, windowOf } from "./masks.js";
import { Piecewise, largestOf } from "./window.js";

const MECHANISMS = { RR, JRR, DRR, MRR, SS, SUE, OUE, OLH, Piecewise };

/** Refuse what is no mechanism, or none that this client speaks. */
export function checkMechanism(document) {
  const name = document?.mechanism;
  if (typeof name !== "string") throw new DamagedError("mechanism", "mechanism must have a name");
  if (!Object.hasOwn(MECHANISMS, name)) {
    const known = Object.keys(MECHANISMS).join(", ");
    throw new UnsupportedError("mechanism", `this client speaks ${known}`);
  }
  const { fields, optional = {}, holds = () => true } = MECHANISMS[name];
  const known = { ...fields, ...optional };
  for (const field of Object.keys(document)) {
    if (field !== "mechanism" && !Object.hasOwn(known, field)) {
      throw new DamagedError("mechanism", `${name} has no field ${field.slice(0, 50)}`);
    }
  }
  for (const [field, fits] of Object.entries(known)) {
    const given = Object.hasOwn(document, field);
    if ((given || Object.hasOwn(fields, field)) && !fits(document[field])) {
      throw new DamagedError("mechanism", `${field} of ${name} is not acceptable`);
    }
  }
  if (!holds(document)) {
    throw new DamagedError("mechanism", `the parameters of ${name} do not fit together`);
  }
  return document;
}

const kind = (mechanism) => MECHANISMS[mechanism.mechanism];

/** Whether contributors are dealt cards. */
export const deals = (mechanism) => kind(mechanism).deals(mechanism);

/** Whether cards are whole numbers that are added to reports. */
export const masked = ({ mechanism }) => mechanism === "MRR";

/** How many answers there are; of a number in steps its two ends. */
export const valuesOf = ({ k = 2 }) => k;

/** The window by which a number is told in steps; null: it is rounded to one of its two ends. */
export const windowFor = (mechanism) =>
  mechanism.mechanism === "Piecewise" ? mechanism : windowOf(mechanism);

/** In how many steps a number is told; 1: it is rounded to one of its two ends. */
export const stepsOf = (mechanism) => windowFor(mechanism)?.steps ?? 1;

/** Whether the dealer announces, at the end, the sum of the cards that were used. */
export const announces = (mechanism) => (mechanism.announced_rate ?? 0) > 0;

/** How many random words one report takes, but for rare ties. */
export const wordsNeeded = (mechanism) => kind(mechanism).words(mechanism);

/** Words that lie, by card. */
export const lieWords = (mechanism) => kind(mechanism).lies(mechanism);

/** Chances that a report speaks for value v: `p` if it is the answer, `q` if it is not. */
export const chances = (mechanism, v, carded = false) => kind(mechanism).chances(mechanism, v, carded);

/** A card as a dealer gave it, or a refusal that does not repeat it. */
export function checkCard(mechanism, card) {
  if (!kind(mechanism).isCard(mechanism, card)) {
    throw new DamagedError("card", "card must be one of the question's deck");
  }
  return card;
}

/** The same chances with decks for n people. */
export function resized(mechanism, n) {
  const other = kind(mechanism).resized?.(mechanism, n) ?? null;
  if (other === null) throw new UnsupportedError("dealing", "this client enrols for even decks only");
  return other;
}

/** The number of a combination of answers, one for each item of a block. */
function combined(sizes, answers) {
  const fits = (size, item) => Number.isInteger(answers[item]) && answers[item] >= 0 && answers[item] < size;
  if (!Array.isArray(answers) || answers.length !== sizes.length || !sizes.every(fits)) {
    throw new ArgumentError("answer", "value must be an answer to each item"); // not repeated
  }
  return sizes.reduce((told, size, item) => told * size + answers[item], 0);
}

/** The report that words make of a value; `next`: the next random word (index.d.ts). */
export function reportFrom(mechanism, value, card, next) {
  const sizes = itemsOf(mechanism);
  if (sizes !== null) value = combined(sizes, value);
  const last = windowFor(mechanism)?.steps ?? mechanism.k - 1;
  if (!Number.isInteger(value) || value < 0 || value > last) {
    throw new ArgumentError("answer", `value must be in 0..${last}`); // not repeated
  }
  if (card !== null && !deals(mechanism)) {
    throw new ArgumentError("card", "card must be null: the mechanism deals none");
  }
  return kind(mechanism).respond(mechanism, value, card, () => BigInt.asUintN(64, next()));
}

/** The report that exactly these words, in their order, make of a value. */
export function reportFromWords(mechanism, value, card, words) {
  let drawn = 0;
  const refusal = () => new ArgumentError("words", `words must be as many as a report takes`);
  const report = reportFrom(mechanism, value, card, () => {
    if (drawn === words.length) throw refusal();
    return words[drawn++];
  });
  if (drawn !== words.length) throw refusal();
  return report;
}

/** How much a report speaks for each value. */
export function supports(mechanism, report) {
  const { mechanism: name, k, g } = mechanism;
  const window = windowFor(mechanism);
  if (window) return [largestOf(window) - report, report];
  if (name === "OLH") {
    const [seed, bucket] = report;
    return Array.from({ length: k }, (_, v) => Number(hashBucket(BigInt(seed), v, g) === bucket));
  }
  if (typeof report === "string") return namedValues(mechanism, report);
  if (!masked(mechanism)) return Array.from({ length: k }, (_, v) => Number(v === report));
  return k === 2 ? [1 - report, report] : report;
}

/** Random words of the system. */
export function secureWords(count) {
  return [...crypto.getRandomValues(new BigUint64Array(count))];
}

/** Words one after another; `draw` is asked for as many as a report takes, then for single ones. */
export function wordSource(draw, count) {
  let words = [];
  let wanted = count;
  return () => {
    if (words.length === 0) {
      words = [...draw(wanted)].reverse();
      wanted = 1;
    }
    return words.pop();
  };
}

/** One report with the system's randomness. */
export function respond(mechanism, value, card = null) {
  return reportFrom(mechanism, value, card, wordSource(secureWords, wordsNeeded(mechanism)));
}
