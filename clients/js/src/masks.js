// Masked randomized response (MRR): an own coin, to which the card, a whole number, is added.

import { remembered } from "./exact.js";
import { isDomain, isPeople, isProbability, isReal } from "./fields.js";
import { chancesOf, holdsFor, isCoin, largestSaid, lieOf, numbersOf, toss, wordsOf } from "./mask_coins.js";
import { isWindow } from "./window.js";

const LARGEST_CARD = 32767; // cards are cut there, far beyond the clamp of reports

/**
 * B: masked reports are brought to at most B beyond what the coin says; no card of a deck lies
 * beyond but by e^-14, nor do those of several dealers together.
 */
export function maskLimit(mechanism) {
  const { n, card_rate, dealers = 1 } = mechanism;
  const digits = (n * numbersOf(mechanism)).toString(2).length;
  const more = Math.ceil((3.5 * (dealers - 1)) / card_rate);
  return Math.min(Math.ceil((14 + 0.7 * digits) / card_rate) + more, 32000);
}

/** The window by which the own coin tells a number; null where it does not. */
export const windowOf = ({ coin }) => (isWindow(coin) ? { steps: coin[1], width: coin[2] } : null);

/** Words that lie in the own coin, with a card and without. */
export const coinWords = remembered((mechanism) => ({
  carded: lieOf(mechanism, mechanism.p),
  alone: lieOf(mechanism, mechanism.alone),
}));

export const isMask = (number) => Number.isInteger(number) && Math.abs(number) <= LARGEST_CARD;

/**
 * The report of what the coin said: the card is added, the sum clamped. Of several dealers the card
 * is a list: theirs are added one after another, and clamped each time.
 */
export function withMask(mechanism, said, card) {
  const limit = maskLimit(mechanism);
  const most = limit + largestSaid(mechanism);
  const isList = (mechanism.dealers ?? 1) > 1;
  let marks = said;
  for (const one of card === null ? [] : isList ? card : [card]) {
    const numbers = marks.length === 1 ? [one] : one;
    marks = marks.map((mark, v) => Math.max(-limit, Math.min(mark + numbers[v], most)));
  }
  return marks.length === 1 ? marks[0] : marks;
}

const isSmall = (value) => Number.isInteger(value) && value >= 1 && value <= 16;

export const MRR = {
  fields: {
    n: isPeople,
    p: isProbability,
    card_rate: (value) => isReal(value, 0.00125, 700),
    total_rate: (value) => isReal(value, 0, 700),
    announced_rate: (value) => isReal(value, 0, 700),
    k: (value) => isDomain(value) && value <= 4096,
    coin: (value) => typeof value === "string" || Array.isArray(value), // `holds` knows k
    alone: isProbability,
  },
  optional: { dealers: isSmall, announcements: isSmall },
  holds(mechanism) {
    const { k, coin, total_rate, announced_rate, dealers = 1, announcements = 1 } = mechanism;
    // Of several dealers a card that is cut must not show, whatever the others' cards are.
    if (!isCoin(k, coin) || !holdsFor(mechanism)) return false;
    const hidden = announced_rate > 0 && 2 * maskLimit(mechanism) + largestSaid(mechanism) <= LARGEST_CARD;
    const fits = dealers === 1 || hidden;
    return total_rate > 0 !== announced_rate > 0 && fits && (announcements === 1 || announced_rate > 0);
  },
  deals: () => true,
  words: wordsOf,
  isCard(mechanism, card) {
    const numbers = numbersOf(mechanism);
    if (numbers === 1) return isMask(card);
    return Array.isArray(card) && card.length === numbers && card.every(isMask);
  },
  // The own coin, another one where there is no card; then the card is added.
  respond(mechanism, value, card, next) {
    const lie = coinWords(mechanism)[card === null ? "alone" : "carded"];
    return withMask(mechanism, toss(mechanism, value, lie, next), card);
  },
  resized: (mechanism, n) => ({ ...mechanism, n }),
  // With a card, once the sum of the cards is taken off.
  chances: (mechanism, v, carded) => chancesOf(mechanism, carded ? mechanism.p : mechanism.alone),
};
