// Numbers that follow from a secret; the same as src/jrr/dealing/verified/keys.py. The law of whole
// numbers is drawn exactly, from whole numbers alone (Canonne, Kamath, Steinke 2020, Algorithm 2).

import { sha512 } from "../vendor/noble.js";
import { asNumber, digest, joined, littleEndian, wholeOf } from "./group.js";

/** A double above 0 as the fraction that it is. */
function fractionOf(rate) {
  let over = rate;
  let under = 1n;
  while (!Number.isInteger(over)) {
    over *= 2; // exact: only the exponent changes
    under *= 2n;
  }
  return { steps: BigInt(over), scale: under };
}

/** Bytes from a secret: SHA-512 of the secret's hash and a counter, block after block. */
export class Stream {
  #key;
  #block = 0;
  #left = new Uint8Array(0);

  constructor(domain, ...parts) {
    this.#key = digest(domain, ...parts);
  }

  /** The next bytes. */
  take(size) {
    while (this.#left.length < size) {
      this.#left = joined(this.#left, sha512(joined(this.#key, littleEndian(this.#block, 8))));
      this.#block += 1;
    }
    const taken = this.#left.slice(0, size);
    this.#left = this.#left.slice(size);
    return taken;
  }

  /** A uniform whole number below a bound. */
  below(bound) {
    const bits = bound === 1n ? 0 : (bound - 1n).toString(2).length;
    const mask = (1n << BigInt(bits)) - 1n;
    for (;;) {
      const found = wholeOf(this.take(Math.ceil(bits / 8))) & mask;
      if (found < bound) return found;
    }
  }

  /** A uniform number modulo the group's order. */
  number() {
    return asNumber(this.take(64));
  }

  /** A whole number z with Pr[z] proportional to exp(-rate |z|). */
  laplace(rate) {
    const { steps, scale } = fractionOf(rate);
    for (;;) {
      const start = this.below(scale);
      if (!this.#decays(start, scale)) continue;
      let whole = 0n;
      while (this.#decays(1n, 1n)) whole += 1n;
      const size = (start + scale * whole) / steps;
      const negative = this.below(2n) === 1n;
      if (negative && size === 0n) continue;
      return Number(negative ? -size : size);
    }
  }

  /** True with the chance exp(-over/under), for a fraction of 0 to 1. */
  #decays(over, under) {
    let tries = 1n;
    while (this.below(under * tries) < over) tries += 1n;
    return tries % 2n === 1n;
  }
}
