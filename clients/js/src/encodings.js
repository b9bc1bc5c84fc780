// Encodings, for questions with many answers: one bit for each (SUE, OUE), some of them (SS), or a
// hash of one's own (OLH). Reports and cards of bits are packed, bit v in byte v div 8, least
// significant first, and written in hexadecimal digits (docs/protocol.md).

import { JRR, RR, leansFit } from "./coins.js";
import { fromHex, toHex } from "./documents.js";
import { DamagedError } from "./errors.js";
import { exact, remembered, wordsDown, wordsUp } from "./exact.js";
import { isDomain, isPeople, isProbability, isReal } from "./fields.js";

const FINE = 55n; // bits of a threshold below the byte that nearly always decides
const width = ({ k }) => Math.ceil(k / 8);
const bitOf = (packed, v) => (packed[v >> 3] >> (v & 7)) & 1;

/** Values whose bits are set in a packed report. */
export function namedValues({ k }, report) {
  const packed = fromHex(report, Math.ceil(k / 8));
  return Array.from({ length: k }, (_, v) => bitOf(packed, v));
}

// Bits -----------------------------------------------------------------------------------------

const truthOfBit = ({ mechanism, q }) => (mechanism === "SUE" ? 1 - q : 0.5);

/** Words that report a bit as 1, by its card (minus, none, plus): of the own value, of others. */
export const bitWords = remembered((mechanism) => {
  const { q, s, coupling } = mechanism;
  const lean = exact(s);
  const other = coupling === "dealt" ? lean : -lean;
  return {
    holder: [-1n, 0n, 1n].map((sign) => wordsDown(exact(truthOfBit(mechanism)) + lean * sign)),
    other: [-1n, 0n, 1n].map((sign) => wordsUp(exact(q) + other * sign, 1n)),
  };
});

const hasCards = ({ coupling }) => coupling !== "none";
const deckFits = ({ coupling, n, s }) =>
  coupling === "none" ? n === null && s === 0 : isPeople(n);

const UNARY = {
  fields: {
    k: (value) => isDomain(value) && value <= 1 << 20,
    q: (value) => isReal(value, 0, 0.5) && value > 0 && value < 0.5,
    s: isProbability,
    coupling: (value) => ["none", "joint", "dealt"].includes(value),
    n: (value) => value === null || isPeople(value),
  },
  holds(mechanism) {
    const { q, s } = mechanism;
    return deckFits(mechanism) && s <= q && s <= 1 - truthOfBit(mechanism);
  },
  deals: hasCards,
  words: width,
  isCard({ k }, card) {
    const packed = fromHex(card, width({ k }));
    return packed !== null && (k % 8 === 0 || packed.at(-1) >> (k % 8) === 0);
  },
  // A byte decides nearly every bit; where it ties with the threshold, a word after it does.
  respond(mechanism, value, card, next) {
    const { k } = mechanism;
    const { holder, other } = bitWords(mechanism);
    const cards = card === null ? null : fromHex(card, width(mechanism));
    const words = Array.from({ length: width(mechanism) }, next);
    const report = new Uint8Array(words.length);
    for (let v = 0; v < k; v++) {
      const at = cards === null ? 1 : 2 * bitOf(cards, v);
      const ones = (v === value ? holder : other)[at];
      const byte = (words[v >> 3] >> BigInt(8 * (v & 7))) & 255n;
      let u = byte << FINE;
      if (byte === ones >> FINE) u |= next() >> (64n - FINE);
      if (u < ones) report[v >> 3] |= 1 << (v & 7);
    }
    return toHex(report);
  },
  resized: (mechanism, n) => ({ ...mechanism, n }),
  chances: (mechanism) => ({ p: truthOfBit(mechanism), q: mechanism.q }),
};

export const [SUE, OUE] = [UNARY, UNARY];

// Subsets --------------------------------------------------------------------------------------

/** Words that put the true value into the report. */
export const truthWords = remembered(({ p }) => wordsDown(exact(p)));

function distinctWords(count, next) {
  for (let tries = 0; tries < 100; tries++) {
    const keys = Array.from({ length: count }, next);
    if (new Set(keys).size === count) return keys;
  }
  throw new DamagedError("random", "random words must not be the same a hundred times");
}

export const SS = {
  fields: { k: (value) => isDomain(value) && value <= 1 << 16, d: isDomainOrOne, p: isProbability },
  holds: ({ k, d, p }) => d < k && p > d / k,
  deals: () => false,
  words: ({ k }) => k + 1,
  isCard: () => false,
  // Every value draws a word; the others with the smallest ones fill the report.
  respond(mechanism, value, card, next) {
    const { k, d } = mechanism;
    const isIn = next() >> 1n < truthWords(mechanism);
    const keys = distinctWords(k, next);
    const others = keys.map((key, v) => [key, v]).filter(([, v]) => v !== value);
    others.sort(([a], [b]) => (a < b ? -1 : 1));
    const chosen = others.slice(0, isIn ? d - 1 : d).map(([, v]) => v);
    const report = new Uint8Array(width(mechanism));
    for (const v of isIn ? [...chosen, value] : chosen) report[v >> 3] |= 1 << (v & 7);
    return toHex(report);
  },
  chances: ({ k, d, p }) => ({ p, q: (d - p) / (k - 1) }),
};

function isDomainOrOne(value) {
  return value === 1 || isDomain(value);
}

// Local hashing --------------------------------------------------------------------------------

const [PRIME2, PRIME3, PRIME4, PRIME5] = [0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1];

function addLane(state, lane) {
  const h = (state + Math.imul(lane, PRIME3)) | 0;
  return Math.imul((h << 17) | (h >>> 15), PRIME4);
}

/** The state of XXH32 of 8 bytes after the seed and its upper half. */
export const startHash = (seed) =>
  addLane(Number(seed & 0xffffffffn) + PRIME5 + 8, Number(seed >> 32n));

/** The hash of that state and one more whole number of 32 bits. */
export function finishHash(state, value) {
  let h = addLane(state, value);
  h = Math.imul(h ^ (h >>> 15), PRIME2);
  h = Math.imul(h ^ (h >>> 13), PRIME3);
  return (h ^ (h >>> 16)) >>> 0;
}

/** XXH32 of the seed's upper half and the value, scaled to 0..g-1. */
export function hashBucket(seed, value, g) {
  return Number((BigInt(finishHash(startHash(seed), value)) * BigInt(g)) >> 32n);
}

/** What perturbs the hashed value. */
export const innerOf = remembered(({ g, p, s, coupling, n }) =>
  coupling === "none" ? { mechanism: "RR", k: g, p } : { mechanism: "JRR", n, k: g, p, s },
);
const innerKind = ({ coupling }) => (coupling === "none" ? RR : JRR);

export const OLH = {
  fields: {
    k: (value) => isDomain(value) && value <= 2 ** 32,
    g: (value) => isDomain(value) && value <= 2 ** 31,
    p: isProbability,
    s: isProbability,
    coupling: (value) => value === "none" || value === "joint",
    n: (value) => value === null || isPeople(value),
  },
  holds: (mechanism) => deckFits(mechanism) && leansFit(mechanism),
  deals: hasCards,
  words: () => 2,
  lies: (mechanism) => innerKind(mechanism).lies(innerOf(mechanism)),
  isCard: (mechanism, card) => innerKind(mechanism).isCard(innerOf(mechanism), card),
  respond(mechanism, value, card, next) {
    const seed = next();
    const bucket = hashBucket(seed, value, mechanism.g);
    const told = innerKind(mechanism).respond(innerOf(mechanism), bucket, card, next);
    return [String(seed), told]; // digits: numbers of JavaScript have 53 bits
  },
  resized: (mechanism, n) => ({ ...mechanism, n }),
  chances: ({ p, g }) => ({ p, q: 1 / g }),
};
