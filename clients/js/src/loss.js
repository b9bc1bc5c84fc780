// What an answer tells at most, computed here and not taken from the survey's word.
//
// Losses are ratios of whole numbers of words; only their logarithm is a floating-point number,
// rounded up. Of cards that lean answers (JRR, DRR, encodings with a coupling) this client computes
// the view `dealer` only (somebody knows your card), which bounds every other view: it never shows
// less than what holds.

import { dealtWords } from "./coins.js";
import { bitWords, truthWords } from "./encodings.js";
import { SCALE } from "./exact.js";
import { bareLoss, lossBehind, windowLoss } from "./mask_coins.js";
import { coinWords } from "./masks.js";
import { lieWords } from "./mechanisms.js";
import { windowWords } from "./window.js";

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

function ofMasked(mechanism) {
  const { card_rate, total_rate, announced_rate, announcements = 1 } = mechanism; // sums with the card
  const { carded, alone } = coinWords(mechanism);
  const behind = (step) => lossBehind(mechanism, carded, step);
  const masked = behind(card_rate + total_rate + announcements * announced_rate);
  const single = behind(card_rate + Math.min(card_rate, total_rate));
  const cardless = bareLoss(mechanism, alone);
  return {
    report: Math.max(single, cardless),
    everything: Math.max(masked, cardless),
    dealer: Math.max(bareLoss(mechanism, carded), masked, cardless),
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
  Piecewise: (mechanism) => windowLoss(windowWords(mechanism, mechanism.p)),
};

/** Upper bounds of ε in the views `report`, `everything` and `dealer`. */
export function losses(mechanism) {
  if (mechanism.mechanism === "MRR") return ofMasked(mechanism);
  const loss = (ONE_FOR_ALL[mechanism.mechanism] ?? ofCoins)(mechanism);
  return { report: loss, everything: loss, dealer: loss };
}
