// Whole-number noise drawn exactly (docs/protocol.md): a geometric number is floor(-ln U / rate), the
// binary digits of U being random words, as many as it takes to know the result. Floating point nearly
// always decides by the first word; where it does not, whole numbers with hundreds of digits do.

const SLACK = 2 ** -48; // far above what floating point loses in a logarithm
const SMALL = 1n << 24n; // words below it say too little of U for floating point

/** The exact value of a double above 0, as [whole number, power of 2]. */
function dyadic(double) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, double);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & ((1n << 52n) - 1n);
  return exponent === 0 ? [fraction, -1074] : [fraction | (1n << 52n), exponent - 1075];
}

/** 2·artanh(a / b) times 2^point, a few units too small at most; a/b is at most 1/3. */
function twiceArtanh(a, b, point) {
  const square = (part) => (part * a * a) / (b * b);
  let [sum, part] = [0n, ((2n * a) << point) / b];
  for (let odd = 1n; part > 0n; odd += 2n) {
    sum += part / odd;
    part = square(part);
  }
  return sum;
}

/** ln of a whole number above 0, times 2^point, but for some hundred units. */
function logarithm(whole, point) {
  const digits = BigInt(whole.toString(2).length - 1);
  const power = 1n << digits; // whole / power is in 1..2
  return digits * twiceArtanh(1n, 3n, point) + twiceArtanh(whole - power, whole + power, point);
}

function exactFloor(rate, first, next) {
  const [digits, power] = dyadic(rate);
  let [word, bits] = [first, 64n];
  for (;;) {
    if (word > 0n) {
      const point = 128n + bits + 1100n;
      const unit = bits * twiceArtanh(1n, 3n, point);
      const margin = 1n << (point - 100n - bits);
      const floorOf = (log) => {
        const shifted = power < 0 ? log << BigInt(-power) : log >> BigInt(power);
        return shifted / (digits << point);
      };
      const low = unit - logarithm(word + 1n, point) - margin;
      const high = unit - logarithm(word, point) + margin;
      // Where U may be 1 as far as can be told, another word decides.
      if (low >= 0n && floorOf(low) === floorOf(high)) return Number(floorOf(low));
    }
    word = (word << 64n) | next();
    bits += 64n;
  }
}

/** g >= 0 with chances that fall by e^-rate a step. */
export function geometric(rate, next) {
  const word = next();
  if (word >= SMALL) {
    const scaled = -Math.log((Number(word) + 0.5) * 2 ** -64) / rate;
    const known = 2 / (Number(word) * rate) + SLACK * (scaled + 1 / rate);
    const whole = Math.floor(scaled);
    if (known < scaled - whole && scaled - whole < 1 - known) return whole;
  }
  return exactFloor(rate, word, next);
}

/** A whole number around 0 with chances that fall by e^-rate a step. */
export function discreteLaplace(rate, next) {
  const up = geometric(rate, next);
  return up - geometric(rate, next);
}
