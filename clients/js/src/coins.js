// Mechanisms whose report is one value: RR, and with cards JRR and DRR (docs/protocol.md).

import { DamagedError } from "./errors.js";
import { ONE, SCALE, exact, least, most, remembered, wordsDown, wordsUp } from "./exact.js";
import { isCount, isDeck, isDomain, isPeople, isProbability } from "./fields.js";

// The lying words are the first ones, in k-1 equal parts: part j moves the value by j+1.
export function shifted(k, value, lie, u) {
  const step = lie / (k - 1n);
  if (step === 0n) return value;
  const part = u / step;
  return part < k - 1n ? (value + part + 1n) % k : value;
}

/** Words that lie where the truth has the probability truth / parts. */
export const lying = (k, truth, parts = 1n) => wordsUp(ONE * parts - truth, k - 1n, parts);

const lieOfPlain = remembered(({ k, p }) => lying(BigInt(k), exact(p)));

export const RR = {
  fields: { k: isDomain, p: isProbability },
  deals: () => false,
  words: () => 1,
  lies: (mechanism) => [lieOfPlain(mechanism)],
  isCard: () => false,
  respond(mechanism, value, card, next) {
    const told = shifted(BigInt(mechanism.k), BigInt(value), lieOfPlain(mechanism), next() >> 1n);
    return Number(told);
  },
  chances: ({ k, p }) => ({ p, q: (1 - p) / (k - 1) }),
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

/** Words that lie with a minus card, a blank or none, a plus card. */
const liesOfJoint = remembered((mechanism) => [-1n, 0n, 1n].map((sign) => lieOfJoint(mechanism, sign)));

/** Whether a card's lean leaves probabilities in 0..1, but for the last digit. */
export const leansFit = ({ p, s }) => p + s <= 1.0000001 && s <= p;

export const JRR = {
  fields: { n: isPeople, k: isDomain, p: isProbability, s: isProbability },
  optional: { plus: isCount },
  holds: ({ n, p, s, plus }) => (plus === undefined ? leansFit({ p, s }) : plus <= n),
  deals: () => true,
  words: () => 1,
  lies: liesOfJoint,
  isCard({ n, plus }, card) {
    return card === 1 || card === -1 || (card === 0 && n % 2 === 1 && plus === undefined);
  },
  respond(mechanism, value, card, next) {
    const lie = liesOfJoint(mechanism)[(card ?? 0) + 1];
    return Number(shifted(BigInt(mechanism.k), BigInt(value), lie, next() >> 1n));
  },
  chances: RR.chances,
  resized(mechanism, n) {
    return mechanism.plus === undefined ? { ...mechanism, n } : null;
  },
};

/** Words for a value drawn by oneself, for the card, and for the truth. */
export const dealtWords = remembered(({ truth, own, k }) => {
  const size = BigInt(k);
  const drawn = least(wordsUp(exact(own), size), (SCALE / size) * size);
  const told = least(wordsDown(exact(truth)), SCALE - drawn);
  return { own: drawn, truth: told, dealt: SCALE - drawn - told };
});

const evenDeck = (n, k) => Array.from({ length: k }, (_, v) => Math.floor(n / k) + (v < n % k ? 1 : 0));

export const DRR = {
  fields: { n: isPeople, truth: isProbability, own: isProbability, k: isDomain, deck: isDeck },
  deals: () => true,
  words: () => 1,
  holds: ({ n, k, deck }) => deck.length === k && deck.reduce((a, b) => a + b, 0) === n,
  isCard: ({ k, deck }, card) => Number.isInteger(card) && card >= 0 && card < k && deck[card] > 0,
  // First the words for a value drawn by oneself, in k equal parts; then those for the card,
  // shared out in the deck's proportions where there is none; the rest tells the truth.
  respond(mechanism, value, card, next) {
    const u = next() >> 1n;
    const { own, dealt } = dealtWords(mechanism);
    if (u < own) return Number(u / (own / BigInt(mechanism.k)));
    if (u >= own + dealt) return value;
    if (card !== null) return card;
    let below = 0n;
    for (const [v, cards] of mechanism.deck.entries()) {
      below += BigInt(cards);
      if (u < own + (dealt * below) / BigInt(mechanism.n)) return v;
    }
    throw new DamagedError("mechanism", "the deck of DRR must add up to n");
  },
  chances({ truth, own, k, deck, n }, v) {
    const q = own / k + ((1 - truth - own) * deck[v]) / n;
    return { p: truth + q, q };
  },
  resized(mechanism, n) {
    const { deck, k } = mechanism;
    const isEven = String(deck) === String(evenDeck(mechanism.n, k));
    return isEven ? { ...mechanism, n, deck: evenDeck(n, k) } : null;
  },
};
