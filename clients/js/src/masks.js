// Masked randomized response (MRR): an own coin, to which the card, a whole number, is added.

import { shifted, lying } from "./coins.js";
import { SCALE, exact, remembered } from "./exact.js";
import { isDomain, isPeople, isProbability, isReal } from "./fields.js";
import { isLikely, isWindow, largestOf, spreadOf, told, windowWords } from "./window.js";

const LARGEST_CARD = 32767; // cards are cut there, far beyond the clamp of reports

/**
 * B: masked reports are brought to at most B beyond what the coin says; no card of a deck lies
 * beyond but by e^-14, nor do those of several dealers together.
 */
export function maskLimit({ n, k, card_rate, dealers = 1 }) {
  const digits = (n * (k === 2 ? 1 : k)).toString(2).length;
  const more = Math.ceil((3.5 * (dealers - 1)) / card_rate);
  return Math.min(Math.ceil((14 + 0.7 * digits) / card_rate) + more, 32000);
}

/** The window by which the own coin tells a number; null where it does not. */
export const windowOf = ({ coin }) => (isWindow(coin) ? { steps: coin[1], width: coin[2] } : null);

const windows = remembered((mechanism) => {
  const window = windowOf(mechanism);
  return { carded: windowWords(window, mechanism.p), alone: windowWords(window, mechanism.alone) };
});

/** How many outcomes the own coin has. */
export const coinFaces = ({ k, coin }) => (coin === "rr" ? k : 2);

/** Words that lie in the own coin, with a card and without. */
export const coinWords = remembered((mechanism) => {
  const faces = BigInt(coinFaces(mechanism));
  return { carded: lying(faces, exact(mechanism.p)), alone: lying(faces, exact(mechanism.alone)) };
});

export const isMask = (number) => Number.isInteger(number) && Math.abs(number) <= LARGEST_CARD;

export const MRR = {
  fields: {
    n: isPeople,
    p: isProbability,
    card_rate: (value) => isReal(value, 0.00125, 700),
    total_rate: (value) => isReal(value, 0, 700),
    announced_rate: (value) => isReal(value, 0, 700),
    k: (value) => isDomain(value) && value <= 4096,
    coin: (value) => value === "rr" || value === "oue" || isWindow(value),
    alone: isProbability,
  },
  optional: { dealers: (value) => Number.isInteger(value) && value >= 1 && value <= 16 },
  holds(mechanism) {
    const { k, coin, total_rate, announced_rate, dealers = 1 } = mechanism;
    // Of several dealers a card that is cut must not show, whatever the others' cards are.
    const window = windowOf(mechanism);
    const said = window ? largestOf(window) : 1;
    const hidden = announced_rate > 0 && 2 * maskLimit(mechanism) + said <= LARGEST_CARD;
    const fits = dealers === 1 || hidden;
    const { p, alone } = mechanism;
    const coinFits = window
      ? k === 2 && isLikely(window, p) && isLikely(window, alone)
      : k > 2 || coin === "rr";
    return total_rate > 0 !== announced_rate > 0 && coinFits && fits;
  },
  deals: () => true,
  words: ({ k, coin }) => (coin === "oue" ? k : 1),
  isCard({ k }, card) {
    if (k === 2) return isMask(card);
    return Array.isArray(card) && card.length === k && card.every(isMask);
  },
  // The own coin, another one where there is no card; then the card is added, the sum clamped. Of
  // several dealers the card is a list: theirs are added one after another, and clamped each time.
  respond(mechanism, value, card, next) {
    const { k, coin } = mechanism;
    const window = windowOf(mechanism);
    const kind = card === null ? "alone" : "carded";
    const faces = BigInt(coinFaces(mechanism));
    const lie = window ? null : coinWords(mechanism)[kind];
    let marks;
    if (window) {
      marks = [told(window, windows(mechanism)[kind], value, next() >> 1n)];
    } else if (coin === "oue") {
      const isOne = (_, v) => next() >> 1n < (v === value ? SCALE >> 1n : lie);
      marks = Array.from({ length: k }, isOne).map(Number);
    } else {
      const said = Number(shifted(faces, BigInt(value), lie, next() >> 1n));
      marks = k === 2 ? [said] : Array.from({ length: k }, (_, v) => Number(v === said));
    }
    const limit = maskLimit(mechanism);
    const most = limit + (window ? largestOf(window) : 1);
    const isList = (mechanism.dealers ?? 1) > 1;
    for (const one of card === null ? [] : isList ? card : [card]) {
      const numbers = k === 2 ? [one] : one;
      marks = marks.map((mark, v) => Math.max(-limit, Math.min(mark + numbers[v], most)));
    }
    return k === 2 ? marks[0] : marks;
  },
  resized: (mechanism, n) => ({ ...mechanism, n }),
  // With a card, once the sum of the cards is taken off.
  chances(mechanism, v, carded) {
    const { k, coin, p, alone } = mechanism;
    const truth = carded ? p : alone;
    const window = windowOf(mechanism);
    if (window) return spreadOf(window, truth);
    return coin === "oue" ? { p: 0.5, q: 1 - truth } : { p: truth, q: (1 - truth) / (k - 1) };
  },
};
