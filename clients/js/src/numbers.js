// Questions whose answer is a number between two ends: it is rounded by chance to one of them, so
// that it is right on average, and that is perturbed. What rounding does costs no privacy.

import { ArgumentError } from "./errors.js";
import { exact, wordsDown } from "./exact.js";

/** The lower end (0) or the upper one (1) that a word makes of a number. */
export function roundedNumber([low, high], number, word) {
  if (typeof number !== "number" || !(number >= low && number <= high)) {
    throw new ArgumentError("answer", `answer must be a number from ${low} to ${high}`); // not repeated
  }
  const way = Math.min(1, Math.max(0, (number - low) / (high - low)));
  if (way === 1) return 1;
  return BigInt.asUintN(64, word) >> 1n < wordsDown(exact(way)) ? 1 : 0;
}
