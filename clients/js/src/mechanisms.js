// The mechanisms: (parameters, value, card, words) -> report, in whole numbers (docs/protocol.md).
//
// Each says how many words a report takes, which cards there are, how many words lie, and what a
// report is. Reports and cards are plain JSON values: whole numbers, or lists of k of them (MRR of
// more than two values).

import { ArgumentError, DamagedError, UnsupportedError } from "./errors.js";
import { ONE, SCALE, exact, least, most, wordsDown, wordsUp } from "./exact.js";

// The lying words are the first ones, in k-1 equal parts: part j moves the value by j+1.
function shifted(k, value, lie, u) {
  const step = lie / (k - 1n);
  if (step === 0n) return value;
  const part = u / step;
  return part < k - 1n ? (value + part + 1n) % k : value;
}

/** Words that lie where the truth has the probability truth / parts. */
const lying = (k, truth, parts = 1n) => wordsUp(ONE * parts - truth, k - 1n, parts);

const RR = {
  fields: { k: isDomain, p: isProbability },
  deals: false,
  words: () => 1,
  lies: ({ k, p }) => [lying(BigInt(k), exact(p))],
  isCard: () => false,
  respond({ k, p }, value, card, [u]) {
    return shifted(BigInt(k), value, lying(BigInt(k), exact(p)), u);
  },
};

// With as many plus as minus cards the truth has p + s or p - s. An uneven deck has `plus` plus
// cards of n: a plus card leans by 2s·minus/n, a minus card by -2s·plus/n, within 0..1.
function lieOfJoint({ n, k, p, s, plus }, sign) {
  const size = BigInt(k);
  if (plus === undefined) return lying(size, exact(p) + exact(s) * sign);
  const [people, others] = [BigInt(n), BigInt(sign > 0n ? n - plus : plus)];
  const truth = exact(p) * people + 2n * exact(s) * others * sign;
  return lying(size, most(least(truth, ONE * people), 0n), people);
}

const JRR = {
  fields: { n: isPeople, k: isDomain, p: isProbability, s: isProbability },
  optional: { plus: isCount },
  deals: true,
  words: () => 1,
  lies: (mechanism) => [1n, -1n, 0n].map((sign) => lieOfJoint(mechanism, sign)),
  isCard({ n, plus }, card) {
    return card === 1 || card === -1 || (card === 0 && n % 2 === 1 && plus === undefined);
  },
  respond(mechanism, value, card, [u]) {
    const sign = card === null ? 0n : BigInt(card);
    return shifted(BigInt(mechanism.k), value, lieOfJoint(mechanism, sign), u);
  },
};

/** Words for a value drawn by oneself, for the card, and for the truth. */
export function dealtWords({ truth, own, k }) {
  const size = BigInt(k);
  const drawn = least(wordsUp(exact(own), size), (SCALE / size) * size);
  const told = least(wordsDown(exact(truth)), SCALE - drawn);
  return { own: drawn, truth: told, dealt: SCALE - drawn - told };
}

const DRR = {
  fields: { n: isPeople, truth: isProbability, own: isProbability, k: isDomain, deck: isDeck },
  deals: true,
  words: () => 1,
  isCard: ({ k, deck }, card) => Number.isInteger(card) && card >= 0 && card < k && deck[card] > 0,
  // First the words for a value drawn by oneself, in k equal parts; then those for the card,
  // shared out in the deck's proportions where there is none; the rest tells the truth.
  respond(mechanism, value, card, [u]) {
    const { own, dealt } = dealtWords(mechanism);
    if (u < own) return u / (own / BigInt(mechanism.k));
    if (u >= own + dealt) return value;
    if (card !== null) return BigInt(card);
    let below = 0n;
    for (const [v, cards] of mechanism.deck.entries()) {
      below += BigInt(cards);
      if (u < own + (dealt * below) / BigInt(mechanism.n)) return BigInt(v);
    }
    throw new DamagedError("mechanism", "the deck of DRR must add up to n");
  },
};

const LARGEST_CARD = 32767; // cards are cut there, far beyond the clamp of reports

/**
 * B: masked reports are brought into -B..B+1; no card of a deck lies beyond but by e^-14, nor do
 * those of several dealers together.
 */
export function maskLimit({ n, k, card_rate, dealers = 1 }) {
  const digits = (n * (k === 2 ? 1 : k)).toString(2).length;
  const more = Math.ceil((3.5 * (dealers - 1)) / card_rate);
  return Math.min(Math.ceil((14 + 0.7 * digits) / card_rate) + more, 32000);
}

/** How many outcomes the own coin of MRR has. */
export const coinFaces = ({ k, coin }) => (coin === "rr" ? k : 2);

const isMask = (mechanism, number) =>
  Number.isInteger(number) && Math.abs(number) <= LARGEST_CARD;

const MRR = {
  fields: {
    n: isPeople,
    p: isProbability,
    card_rate: (value) => isReal(value, 0.00125, 700),
    total_rate: (value) => isReal(value, 0, 700),
    announced_rate: (value) => isReal(value, 0, 700),
    k: (value) => isDomain(value) && value <= 4096,
    coin: (value) => value === "rr" || value === "oue",
    alone: isProbability,
  },
  optional: { dealers: (value) => Number.isInteger(value) && value >= 1 && value <= 16 },
  holds(mechanism) {
    const { k, coin, total_rate, announced_rate, dealers = 1 } = mechanism;
    // Of several dealers a card that is cut must not show, whatever the others' cards are.
    const hidden = announced_rate > 0 && 2 * maskLimit(mechanism) + 1 <= LARGEST_CARD;
    const fits = dealers === 1 || hidden;
    return total_rate > 0 !== announced_rate > 0 && (k > 2 || coin === "rr") && fits;
  },
  deals: true,
  words: ({ k, coin }) => (coin === "rr" ? 1 : k),
  isCard(mechanism, card) {
    if (mechanism.k === 2) return isMask(mechanism, card);
    const fits = Array.isArray(card) && card.length === mechanism.k;
    return fits && card.every((number) => isMask(mechanism, number));
  },
  // The own coin, another one where there is no card; then the card is added, the sum clamped. Of
  // several dealers the card is a list: theirs are added one after another, and clamped each time.
  respond(mechanism, value, card, us) {
    const { k, coin, p, alone } = mechanism;
    const faces = BigInt(coinFaces(mechanism));
    const lie = lying(faces, exact(card === null ? alone : p));
    let marks;
    if (coin === "oue") {
      marks = us.map((u, v) => (u < (BigInt(v) === value ? SCALE >> 1n : lie) ? 1n : 0n));
    } else {
      const told = shifted(faces, value, lie, us[0]);
      marks = k === 2 ? [told] : Array.from({ length: k }, (_, v) => (BigInt(v) === told ? 1n : 0n));
    }
    const limit = BigInt(maskLimit(mechanism));
    const several = (mechanism.dealers ?? 1) > 1;
    for (const one of card === null ? [] : several ? card : [card]) {
      const numbers = k === 2 ? [one] : one;
      marks = marks.map((mark, v) => most(-limit, least(mark + BigInt(numbers[v]), limit + 1n)));
    }
    return k === 2 ? marks[0] : marks;
  },
};

const MECHANISMS = { RR, JRR, DRR, MRR };

function isReal(value, low, high) {
  return typeof value === "number" && value >= low && value <= high;
}
function isProbability(value) {
  return isReal(value, 0, 1);
}
function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}
function isPeople(value) {
  return isCount(value) && value >= 2;
}
function isDomain(value) {
  return isCount(value) && value >= 2;
}
function isDeck(value) {
  return Array.isArray(value) && value.every(isCount);
}

/**
 * Refuse what is no mechanism that this client speaks.
 *
 * @throws {UnsupportedError} It is another one.
 * @throws {DamagedError} It is none.
 */
export function checkMechanism(document) {
  const name = document?.mechanism;
  if (typeof name !== "string") throw new DamagedError("mechanism", "mechanism must have a name");
  if (!Object.hasOwn(MECHANISMS, name)) {
    throw new UnsupportedError("mechanism", "this client speaks RR, JRR, DRR and MRR so far");
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
  const { k, n, deck, plus, p, s } = document;
  const sums = deck === undefined || (deck.length === k && deck.reduce((a, b) => a + b, 0) === n);
  const leans = s === undefined || plus !== undefined || (p + s <= 1.0000001 && s <= p);
  if (!sums || !leans || (plus !== undefined && plus > n) || !holds(document)) {
    throw new DamagedError("mechanism", `the parameters of ${name} do not fit together`);
  }
  return document;
}

const kind = (mechanism) => MECHANISMS[mechanism.mechanism];

/** Whether contributors are dealt cards. */
export const deals = (mechanism) => kind(mechanism).deals;

/** Whether the dealer announces, at the end, the sum of the cards that were used. */
export const announces = (mechanism) => (mechanism.announced_rate ?? 0) > 0;

/** How many random words one report takes. */
export const wordsNeeded = (mechanism) => kind(mechanism).words(mechanism);

/** Words that lie, by card. */
export const lieWords = (mechanism) => kind(mechanism).lies(mechanism);

/** Words that lie in the own coin of MRR, with a card and without. */
export function coinWords(mechanism) {
  const faces = BigInt(coinFaces(mechanism));
  return { carded: lying(faces, exact(mechanism.p)), alone: lying(faces, exact(mechanism.alone)) };
}

/** A card as a dealer gave it, or a refusal that does not repeat it. */
export function checkCard(mechanism, card) {
  if (!kind(mechanism).isCard(mechanism, card)) {
    throw new DamagedError("card", "card must be one of the campaign's deck");
  }
  return card;
}

/**
 * The report that random words make of a value.
 *
 * @param mechanism As the campaign's document has it.
 * @param {number} value The true answer, 0..k-1.
 * @param card As the dealer gave it; of several dealers a list of theirs; null where there is none.
 * @param {bigint[]} words 64 bits each, `wordsNeeded` of them.
 * @returns A whole number, or a list of k of them.
 */
export function reportFromWords(mechanism, value, card, words) {
  if (!Number.isInteger(value) || value < 0 || value >= mechanism.k) {
    throw new ArgumentError("answer", `value must be in 0..${mechanism.k - 1}`); // not repeated
  }
  if (card !== null && !deals(mechanism)) {
    throw new ArgumentError("card", "card must be null: the mechanism deals none");
  }
  if (words.length !== wordsNeeded(mechanism)) {
    throw new ArgumentError("words", `words must be ${wordsNeeded(mechanism)}`);
  }
  const us = words.map((word) => BigInt.asUintN(64, word) >> 1n);
  const report = kind(mechanism).respond(mechanism, BigInt(value), card, us);
  return Array.isArray(report) ? report.map(Number) : Number(report);
}

/** Random words of the system. */
export function secureWords(count) {
  return [...crypto.getRandomValues(new BigUint64Array(count))];
}

/** One report with the system's randomness. */
export function respond(mechanism, value, card = null) {
  return reportFromWords(mechanism, value, card, secureWords(wordsNeeded(mechanism)));
}
