// Probabilities as whole numbers of random words (docs/protocol.md): no rounding but the one that
// is written down, so that every language makes the same report of the same word.

export const SCALE = 1n << 63n; // the upper 63 bits of a word are a number below this
const POINT = 1100n; // probabilities are whole multiples of 2^-1100: every double in 0..1 is one

/** The exact value of a double in 0..1, times 2^POINT. */
export function exact(double) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, double);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & ((1n << 52n) - 1n);
  if (exponent === 0n) return fraction << (POINT - 1074n);
  return (fraction | (1n << 52n)) << (POINT + exponent - 1075n);
}

export const ONE = exact(1);

/** The fewest words, a multiple of `multiple`, that are at least probability / parts. */
export function wordsUp(probability, multiple, parts = 1n) {
  const unit = (multiple * parts) << (POINT - 63n);
  return ((probability + unit - 1n) / unit) * multiple;
}

/** The most words that are at most this probability. */
export function wordsDown(probability) {
  return probability >> (POINT - 63n);
}

export const least = (a, b) => (a < b ? a : b);
export const most = (a, b) => (a > b ? a : b);

/** The function, which computes once what follows from a mechanism's parameters. */
export function remembered(compute) {
  const found = new WeakMap();
  return (mechanism) => {
    if (!found.has(mechanism)) found.set(mechanism, compute(mechanism));
    return found.get(mechanism);
  };
}
