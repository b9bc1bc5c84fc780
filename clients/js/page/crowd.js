// Made-up people for "try it": their answers are perturbed exactly as a real one would be, their
// cards are dealt here, and a collector's arithmetic is done on what comes out. Nothing is sent.
//
// Cards of masks are drawn with floating-point numbers: good enough to look at, and nothing else.

import { chances, deals, masked, respond, stepsOf, supports, windowFor } from "../src/mechanisms.js";
import { largestOf } from "../src/window.js";

/** Whether reports are numbers to which something was added. */
export const tellsNumbers = (mechanism) => masked(mechanism) || windowFor(mechanism) !== null;

/** An answer as it is perturbed: of a number in steps, one of its two ends. */
const perturbed = (mechanism, value) => value * stepsOf(mechanism);

/** A random number in 0..1, neither end included. */
function fraction() {
  return (crypto.getRandomValues(new Uint32Array(1))[0] + 0.5) / 2 ** 32;
}

/** A whole number around 0, the farther the rarer. */
function noise(rate) {
  const geometric = () => Math.floor(-Math.log(fraction()) / rate);
  return geometric() - geometric();
}

function shuffled(list) {
  for (let at = list.length - 1; at > 0; at--) {
    const other = Math.floor(fraction() * (at + 1));
    [list[at], list[other]] = [list[other], list[at]];
  }
  return list;
}

/** So many cards in the proportions of a deck, shuffled. */
function dealtFrom(deck, people) {
  const total = deck.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  const cards = deck.flatMap(([card, count]) => {
    const first = Math.round((below * people) / total);
    below += count;
    return Array(Math.round((below * people) / total) - first).fill(card);
  });
  return shuffled(cards);
}

const signs = ({ n, plus }) => (plus === undefined ? [[1, 1], [-1, 1]] : [[1, plus], [-1, n - plus]]);

/** A card of bits for everybody, each bit from a deck of its own. */
function bitCards({ k }, people) {
  const columns = Array.from({ length: k }, () => dealtFrom([[1, 1], [0, 1]], people));
  return Array.from({ length: people }, (_, person) => {
    const bytes = new Uint8Array(Math.ceil(k / 8));
    columns.forEach((column, v) => (bytes[v >> 3] |= column[person] << (v & 7)));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  });
}

/** Cards for so many people, as dealers would deal them (of several, a list); null for none. */
export function madeUpCards(mechanism, people) {
  if (!deals(mechanism)) return Array(people).fill(null);
  const { mechanism: name, k = 2, deck, card_rate, dealers = 1 } = mechanism;
  if (name === "DRR") return dealtFrom([...deck.entries()], people);
  if (name === "SUE" || name === "OUE") return bitCards(mechanism, people);
  if (!masked(mechanism)) return dealtFrom(signs(mechanism), people);
  const mask = () => noise(card_rate);
  const card = () => (k === 2 ? mask() : Array.from({ length: k }, mask));
  const hand = () => (dealers > 1 ? Array.from({ length: dealers }, card) : card());
  return Array.from({ length: people }, hand);
}

/** What so many devices with this answer would send. */
export function madeUpReports(mechanism, value, times) {
  return madeUpCards(mechanism, times).map((card) => respond(mechanism, perturbed(mechanism, value), card));
}

/** How many people a crowd has: fewer where a report is long. */
export const crowdSize = ({ k = 2 }) => Math.max(100, Math.min(1000, Math.floor(50_000 / k)));

/** A crowd of whom a share has one answer and the others the rest, evenly; what reports say of it. */
export function crowd(mechanism, value, share) {
  const people = crowdSize(mechanism);
  const holders = Math.round(share * people);
  const cards = madeUpCards(mechanism, people);
  const { k = 2 } = mechanism;
  let support = 0;
  cards.forEach((card, person) => {
    const other = (value + 1 + (person % (k - 1))) % k;
    const report = respond(mechanism, perturbed(mechanism, person < holders ? value : other), card);
    support += supports(mechanism, report)[value];
  });
  if (masked(mechanism)) support -= sumOf(mechanism, cards, value);
  const { p, q } = chances(mechanism, value, true);
  return { people, truth: holders / people, estimate: (support / people - q) / (p - q) };
}

/** The sum of the cards at one value, as each dealer tells it at the end: with some noise. */
function sumOf(mechanism, hands, value) {
  const { k = 2, announced_rate, total_rate, dealers = 1 } = mechanism;
  const sign = k === 2 && value === 0 ? -1 : 1; // a report for yes is one against no
  const cards = dealers > 1 ? hands.flat() : hands;
  let sum = cards.reduce((total, card) => total + (k === 2 ? sign * card : card[value]), 0);
  for (let dealer = 0; dealer < dealers; dealer++) sum += noise(announced_rate || total_rate);
  return sum;
}

/** Rows of a picture, and to which a report adds; of masks, by the number at the first value. */
export function rowsOf(mechanism, labels, values) {
  if (!tellsNumbers(mechanism)) {
    const names = values.map((value) => labels[value]);
    const find = (report) => {
      const support = supports(mechanism, report);
      return values.flatMap((value, row) => (support[value] ? [row] : []));
    };
    return { names, find };
  }
  const window = windowFor(mechanism);
  const most = window ? largestOf(window) : 0;
  const step = Math.max(1, Math.round(Math.max(0.9 / (mechanism.card_rate ?? Infinity), (most + 1) / 8)));
  const ends = [-3, -2, -1, 0, 1, 2, 3].map((at) => Math.ceil(most / 2) + at * step);
  const range = (low, high) => (low === high ? `${low}` : `${low} … ${high}`);
  const minus = (text) => text.replaceAll("-", "−");
  const names = [
    `≤ ${ends[0] - 1}`,
    ...ends.slice(0, -1).map((end, at) => range(end, ends[at + 1] - 1)),
    `≥ ${ends.at(-1)}`,
  ].map(minus);
  const find = (report) => {
    const number = Array.isArray(report) ? report[values[0]] : report;
    return [ends.filter((end) => number >= end).length];
  };
  return { names, find };
}
