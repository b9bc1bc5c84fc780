// Numbers told by a window of numbers: the coin of masks for them, and without cards Piecewise.
//
// Of x in 0..steps one of 0..steps+width-1 is told, those of x..x+width-1 more likely.

import { ONE, SCALE, exact, remembered, wordsUp } from "./exact.js";
import { isProbability } from "./fields.js";

const isWithin = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;
const isSteps = (value) => isWithin(value, 64);
const isWidth = (value) => isWithin(value, 128);

/** Whether a coin, as documents say it, is a window: ["window", steps, width]. */
export const isWindow = (coin) =>
  Array.isArray(coin) && coin.length === 3 && coin[0] === "window" && isSteps(coin[1]) && isWidth(coin[2]);

/** The largest number that is told. */
export const largestOf = ({ steps, width }) => steps + width - 1;

/** Whether a window is likelier than by guessing, as losses are computed for. */
export const isLikely = ({ steps, width }, p) => p > width / (width + steps) && p <= 1;

/** Words for all numbers that are not of the window, for each of them, and for each of the window. */
export function windowWords({ steps, width }, p) {
  const lies = wordsUp(ONE - exact(p), BigInt(steps));
  const told = (SCALE - lies + BigInt(width) - 1n) / BigInt(width);
  const last = SCALE - lies - BigInt(width - 1) * told; // of its last number, hardly fewer
  return { lies, other: lies / BigInt(steps), told, last };
}

/** First the words for numbers that are not of the window, then those of the window. */
export function told({ width }, { lies, other, told }, value, u) {
  if (u >= lies) return value + Number((u - lies) / told);
  const number = Number(u / other);
  return number < value ? number : number + width;
}

/** How often a number of the window is drawn on purpose, of all chances p of the window. */
export function spreadOf({ steps, width }, p) {
  const aimed = p - ((1 - p) * width) / steps;
  const q = (largestOf({ steps, width }) - aimed * steps) / 2;
  return { p: q + aimed * steps, q };
}

const words = remembered((mechanism) => windowWords(mechanism, mechanism.p));

export const Piecewise = {
  fields: { steps: isSteps, width: isWidth, p: isProbability },
  holds: (mechanism) => isLikely(mechanism, mechanism.p),
  deals: () => false,
  words: () => 1,
  isCard: () => false,
  respond: (mechanism, value, card, next) => told(mechanism, words(mechanism), value, next() >> 1n),
  chances: (mechanism) => spreadOf(mechanism, mechanism.p),
};
