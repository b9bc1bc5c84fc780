// Questions whose answer is a number between two ends: it is rounded by chance to one of the steps from
// one to the other, of which there may be only one, so that it is right on average, and that is
// perturbed. What rounding does costs no privacy.

import { ArgumentError } from "./errors.js";
import { exact, wordsDown } from "./exact.js";

/** The step that a word makes of a number: with one, the lower end (0) or the upper one (1). */
export function roundedNumber([low, high], number, word, steps = 1) {
  if (typeof number !== "number" || !(number >= low && number <= high)) {
    throw new ArgumentError("answer", `answer must be a number from ${low} to ${high}`); // not repeated
  }
  const way = Math.min(1, Math.max(0, (number - low) / (high - low)));
  const whole = Math.floor(way * steps);
  const isUp = BigInt.asUintN(64, word) >> 1n < wordsDown(exact(way * steps - whole));
  return isUp ? whole + 1 : whole;
}
