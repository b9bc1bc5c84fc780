// The encodings' mapping (mechanism, value, card, words) -> report, written a second time: whole
// numbers only, no dependencies. Reads golden vectors and exits with 1 where a report differs or
// takes another number of words.
//
//     node encodings.mjs [encodings.json]

import { readFileSync } from "node:fs";

const POINT = 1100n; // probabilities are whole multiples of 2^-1100: every double in 0..1 is one
const FINE = 55n; // bits of a threshold below the byte that nearly always decides

// The exact value of a double in 0..1, times 2^POINT.
function exact(double) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, double);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & ((1n << 52n) - 1n);
  if (exponent === 0n) return fraction << (POINT - 1074n);
  return (fraction | (1n << 52n)) << (POINT + exponent - 1075n);
}

const ONE = exact(1);

// The fewest words, a multiple of `multiple`, that are at least this probability.
function wordsUp(probability, multiple) {
  const unit = multiple << (POINT - 63n);
  return ((probability + unit - 1n) / unit) * multiple;
}

// The most words that are at most this probability.
function wordsDown(probability) {
  return probability >> (POINT - 63n);
}

// Unary encoding ------------------------------------------------------------------------------

// How many of the 2^63 numbers report a bit as 1; the card is +1n, -1n, or 0n for none.
function onesOf({ mechanism, q, s, coupling }, held, card) {
  const lean = exact(s) * card;
  if (held) return wordsDown(exact(mechanism === "SUE" ? 1 - q : 0.5) + lean);
  return wordsUp(exact(q) + (coupling === "dealt" ? lean : -lean), 1n);
}

const bitOf = (packed, v) => (packed[v >> 3] >> (v & 7)) & 1;

function respondUnary(mechanism, value, cardHex, next) {
  const { k, n } = mechanism;
  if (cardHex !== null && n === null) throw new Error("no cards without a coupling");
  const width = Math.ceil(k / 8);
  const cards = cardHex === null ? null : Buffer.from(cardHex, "hex");
  const words = Array.from({ length: width }, next);
  const report = Buffer.alloc(width);
  for (let v = 0; v < k; v++) {
    const card = cards === null ? 0n : bitOf(cards, v) ? 1n : -1n;
    const ones = onesOf(mechanism, v === value, card);
    const byte = (words[v >> 3] >> BigInt(8 * (v & 7))) & 255n;
    let u = byte << FINE;
    if (byte === ones >> FINE) u |= next() >> (64n - FINE);
    if (u < ones) report[v >> 3] |= 1 << (v & 7);
  }
  return report.toString("hex");
}

// Local hashing -------------------------------------------------------------------------------

const MASK = 0xffffffffn;
const PRIME2 = 2246822519n;
const PRIME3 = 3266489917n;
const PRIME4 = 668265263n;
const PRIME5 = 374761393n;

const rotated = (x, by) => ((x << by) | (x >> (32n - by))) & MASK;

// XXH32 of two 4-byte lanes.
function xxh32(lanes, seed) {
  let h = (seed + PRIME5 + 4n * BigInt(lanes.length)) & MASK;
  for (const lane of lanes) h = (rotated((h + lane * PRIME3) & MASK, 17n) * PRIME4) & MASK;
  h = ((h ^ (h >> 15n)) * PRIME2) & MASK;
  h = ((h ^ (h >> 13n)) * PRIME3) & MASK;
  return h ^ (h >> 16n);
}

// The lying words are the first ones, in k-1 equal parts: part j moves the value by j+1.
function shifted(k, value, truth, u) {
  const step = wordsUp(ONE - truth, k - 1n) / (k - 1n);
  if (step === 0n) return value;
  const part = u / step;
  return part < k - 1n ? (value + part + 1n) % k : value;
}

function respondOLH({ g, p, s, coupling }, value, card, next) {
  if (card !== null && coupling === "none") throw new Error("no cards without a coupling");
  const seed = next();
  const buckets = BigInt(g);
  const bucket = (xxh32([seed >> 32n, BigInt(value)], seed & MASK) * buckets) >> 32n;
  const truth = exact(p) + exact(s) * BigInt(card ?? 0);
  return { seed: `${seed}`, value: Number(shifted(buckets, bucket, truth, next() >> 1n)) };
}

// ---------------------------------------------------------------------------------------------

const RESPOND = { SUE: respondUnary, OUE: respondUnary, OLH: respondOLH };

const same = (a, b) => (typeof a === "string" ? a === b : a.seed === b.seed && a.value === b.value);

const path = process.argv[2] ?? new URL("encodings.json", import.meta.url);
let checked = 0;
let wrong = 0;
for (const { mechanism, vectors } of JSON.parse(readFileSync(path, "utf8"))) {
  const respond = RESPOND[mechanism.mechanism];
  for (const { words, value, card, report } of vectors) {
    let drawn = 0;
    const next = () => BigInt(words[drawn++] ?? 0); // a word too many is told by the count
    const got = respond(mechanism, value, card, next);
    checked += 1;
    if (!same(got, report) || drawn !== words.length) {
      wrong += 1;
      console.error(JSON.stringify({ mechanism, words, value, card, report, got, drawn }));
    }
  }
}
console.log(`${checked} vectors, ${wrong} wrong`);
process.exit(checked > 0 && wrong === 0 ? 0 : 1);
