// What an answer tells at most, computed here and not taken from the survey's word.
//
// Losses are ratios of whole numbers of words; only their logarithm is a floating-point number,
// rounded up. Of cards that lean answers (JRR, DRR, encodings with a coupling) this client computes
// the view `dealer` only (somebody knows your card), which bounds every other view: it never shows
// less than what holds.

import { dealtWords } from "./coins.js";
import { bitWords, truthWords } from "./encodings.js";
import { SCALE } from "./exact.js";
import { coinFaces, coinWords, windowOf } from "./masks.js";
import { lieWords } from "./mechanisms.js";
import { largestOf, windowWords } from "./window.js";

const UP = 1 + 2 ** -40; // more than all roundings of a few operations on doubles

function logUp(high, low) {
  if (low <= 0n) return high <= 0n ? 0 : Infinity;
  return Math.log(Number(high) / Number(low)) * UP + 2 ** -40;
}

/** The loss of a coin with so many lying words, each way. */
function ofCoin(k, lie) {
  const truth = (SCALE - lie) * BigInt(k - 1); // a lie tells one of k-1 others
  return truth >= lie ? logUp(truth, lie) : logUp(lie, truth < 0n ? 0n : truth);
}

/** The loss of that coin behind a mask whose weight changes by e^step at most. */
function behindMask(k, lie, step) {
  const q = Number(lie) / Number(SCALE) / (k - 1);
  const p = 1 - (k - 1) * q;
  const weight = Math.exp(k === 2 ? step : 2 * step);
  if (!Number.isFinite(weight)) return ofCoin(k, lie);
  return Math.log((p * weight + (k - 1) * q) / (p + q * weight + (k - 2) * q)) * UP + 2 ** -40;
}

/** The loss of a window: a number of it, by another one. */
function ofWindow(window, p) {
  const { other, told, last } = windowWords(window, p);
  return logUp(told, other < last ? other : last);
}

/** The same behind a mask: the worst place m at which report and sum meet, numbers u weighing e^(-step |u-m|). */
function behindWindow(window, p, step) {
  const { other, told, last } = windowWords(window, p);
  const most = largestOf(window);
  const share = (words) => Number(words) / Number(SCALE);
  let worst = 1;
  for (let peak = 0; peak <= most; peak++) {
    const weights = Array.from({ length: most + 1 }, (_, u) => Math.exp(-step * Math.abs(u - peak)));
    const sum = (from, to) => weights.slice(from, to).reduce((total, one) => total + one, 0);
    const others = share(other) * sum(0, most + 1);
    const windows = Array.from({ length: window.steps + 1 }, (_, x) => sum(x, x + window.width));
    const high = others + share(told - other) * Math.max(...windows);
    const low = others + share(last - other) * Math.min(...windows);
    worst = Math.max(worst, high / low);
  }
  return Math.min(Math.log(worst) * UP + 2 ** -40, ofWindow(window, p));
}

function ofMasked(mechanism) {
  const { card_rate, total_rate, announced_rate } = mechanism;
  const window = windowOf(mechanism);
  const faces = coinFaces(mechanism);
  const { carded, alone } = window ? { carded: mechanism.p, alone: mechanism.alone } : coinWords(mechanism);
  const coin = (words) => (window ? ofWindow(window, words) : ofCoin(faces, words));
  const behind = (step) => (window ? behindWindow(window, carded, step) : behindMask(faces, carded, step));
  const bare = coin(carded);
  const masked = behind(card_rate + total_rate + announced_rate);
  const single = behind(card_rate + Math.min(card_rate, total_rate));
  const cardless = coin(alone);
  return {
    report: Math.max(single, cardless),
    everything: Math.max(masked, cardless),
    dealer: Math.max(bare, masked, cardless),
  };
}

function ofDealt(mechanism) {
  const { own, truth } = dealtWords(mechanism);
  const drawn = own / BigInt(mechanism.k);
  return logUp(drawn + truth, drawn);
}

/** Two values differ in two bits; each adds the most that it tells, whatever its card is. */
function ofBits(mechanism) {
  const { holder, other } = bitWords(mechanism);
  const bits = (cards) => {
    const pairs = cards.flatMap((at) => [
      [holder[at], other[at]],
      [SCALE - holder[at], SCALE - other[at]],
    ]);
    const most = (ratios) => Math.max(...ratios.map(([high, low]) => (high > low ? logUp(high, low) : 0)));
    return most(pairs) + most(pairs.map(([a, b]) => [b, a]));
  };
  return mechanism.coupling === "none" ? bits([1]) : Math.max(bits([1]), bits([0, 2]));
}

function ofSubsets(mechanism) {
  const { k, d } = mechanism;
  const named = truthWords(mechanism) * BigInt(k - d);
  const unnamed = (SCALE - truthWords(mechanism)) * BigInt(d);
  return named >= unnamed ? logUp(named, unnamed) : logUp(unnamed, named);
}

// A card does not depend on the answer: not knowing it, one sees a mixture of these coins.
const ofCoins = (mechanism) =>
  Math.max(...lieWords(mechanism).map((lie) => ofCoin(mechanism.g ?? mechanism.k, lie)));

const ONE_FOR_ALL = {
  DRR: ofDealt,
  SS: ofSubsets,
  SUE: ofBits,
  OUE: ofBits,
  Piecewise: (mechanism) => ofWindow(mechanism, mechanism.p),
};

/** Upper bounds of ε in the views `report`, `everything` and `dealer`. */
export function losses(mechanism) {
  if (mechanism.mechanism === "MRR") return ofMasked(mechanism);
  const loss = (ONE_FOR_ALL[mechanism.mechanism] ?? ofCoins)(mechanism);
  return { report: loss, everything: loss, dealer: loss };
}
