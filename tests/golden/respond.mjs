// The mapping (mechanism, value, card, word) -> report, written a second time: whole numbers
// only, no dependencies. Reads golden vectors and exits with 1 where a report differs.
//
//     node respond.mjs [respond.json]

import { readFileSync } from "node:fs";

const SCALE = 1n << 63n; // the upper 63 bits of a word are a number below this
const POINT = 1100n; // probabilities are whole multiples of 2^-1100: every double in 0..1 is one

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

const least = (a, b) => (a < b ? a : b);

// The lying words are the first ones, in k-1 equal parts: part j moves the value by j+1.
// The probability of the truth is truth / parts.
function shifted(k, value, truth, u, parts = 1n) {
  const unit = (k - 1n) * parts << (POINT - 63n);
  const step = (ONE * parts - truth + unit - 1n) / unit;
  if (step === 0n) return value;
  const part = u / step;
  return part < k - 1n ? (value + part + 1n) % k : value;
}

function respondRR({ k, p }, value, card, u) {
  if (card !== null) throw new Error("RR deals no cards");
  return shifted(BigInt(k), value, exact(p), u);
}

// With as many plus as minus cards the truth has p + s or p - s. An uneven deck has `plus`
// plus cards of n: a plus card leans by 2s·minus/n, a minus card by -2s·plus/n, within 0..1.
function respondJRR({ n, k, p, s, plus }, value, card, u) {
  const sign = card ?? 0n;
  if (plus === undefined) return shifted(BigInt(k), value, exact(p) + exact(s) * sign, u);
  const others = BigInt(sign > 0n ? n - plus : plus);
  const size = BigInt(n);
  let truth = exact(p) * size + 2n * exact(s) * others * sign;
  if (truth > ONE * size) truth = ONE * size;
  if (truth < 0n) truth = 0n;
  return shifted(BigInt(k), value, truth, u, size);
}

// First the words for a value drawn by oneself, in k equal parts; then those for the card,
// shared out in the deck's proportions where there is none; the rest tells the truth.
function respondDRR({ n, truth, own, k, deck }, value, card, u) {
  const size = BigInt(k);
  const ownWords = least(wordsUp(exact(own), size), (SCALE / size) * size);
  const truthWords = least(wordsDown(exact(truth)), SCALE - ownWords);
  const dealtWords = SCALE - ownWords - truthWords;
  if (u < ownWords) return u / (ownWords / size);
  if (u >= ownWords + dealtWords) return value;
  if (card !== null) return card;
  let below = 0n;
  for (let v = 0; v < k; v++) {
    below += BigInt(deck[v]);
    if (u < ownWords + (dealtWords * below) / BigInt(n)) return BigInt(v);
  }
  throw new Error("the deck does not add up to n");
}

// A coin as in RR, other where there is no card; then the card is added and the sum clamped.
function respondMRR({ n, card_rate, p, alone }, value, card, u) {
  if (card === null) return shifted(2n, value, exact(alone), u);
  const digits = n.toString(2).length;
  const limit = least(BigInt(Math.ceil((14 + 0.7 * digits) / card_rate)), 32000n);
  const sum = shifted(2n, value, exact(p), u) + card;
  return sum < -limit ? -limit : least(sum, limit + 1n);
}

const RESPOND = { RR: respondRR, JRR: respondJRR, DRR: respondDRR, MRR: respondMRR };

const path = process.argv[2] ?? new URL("respond.json", import.meta.url);
let checked = 0;
let wrong = 0;
for (const { mechanism, vectors } of JSON.parse(readFileSync(path, "utf8"))) {
  const respond = RESPOND[mechanism.mechanism];
  for (const { word, value, card, report } of vectors) {
    const u = BigInt(word) >> 1n;
    const got = respond(mechanism, BigInt(value), card === null ? null : BigInt(card), u);
    checked += 1;
    if (got !== BigInt(report)) {
      wrong += 1;
      console.error(JSON.stringify({ mechanism, word, value, card, report, got: Number(got) }));
    }
  }
}
console.log(`${checked} vectors, ${wrong} wrong`);
process.exit(checked > 0 && wrong === 0 ? 0 : 1);
