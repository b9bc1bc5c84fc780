// The coins behind masks: what the device says on its own, as whole numbers (docs/protocol.md).
//
// A document names them "rr", "oue", ["subset", size], ["block", sizes…] or ["window", steps, width].

import { lying, shifted } from "./coins.js";
import { SCALE, exact, wordsDown } from "./exact.js";
import { isDomain } from "./fields.js";
import { isLikely, isWindow, largestOf, spreadOf, told, windowWords } from "./window.js";

const UP = 1 + 2 ** -40; // more than all roundings of a few operations on doubles
const up = (loss) => Math.max(0, loss * UP + 2 ** -40);
const chanceOf = (words) => Number(words) / Number(SCALE);
const unit = (size, place) => Array.from({ length: size }, (_, v) => Number(v === place));
const times = (numbers) => numbers.reduce((product, number) => product * number, 1);

/** The loss of a coin that tells one of k values, each way. */
function ofOne(k, lie) {
  const [truth, lied] = [(SCALE - lie) * BigInt(k - 1), lie];
  const [high, low] = truth >= lied ? [truth, lied] : [lied, truth];
  return low <= 0n ? Infinity : up(Math.log(Number(high) / Number(low)));
}

/** How many numbers each item has: one for two answers, otherwise one for each. */
const widths = (sizes) => sizes.map((size) => (size === 2 ? 1 : size));

/** Items that are answered together; a coin for one item is a block of it alone. */
const TOGETHER = {
  words: () => 1,
  lie: ({ k, p }) => lying(BigInt(k), exact(p)),
  toss({ k }, sizes, value, lie, next) {
    let combination = Number(shifted(BigInt(k), BigInt(value), lie, next() >> 1n));
    const marks = [];
    for (const size of [...sizes].reverse()) {
      const answer = combination % size;
      combination = Math.floor(combination / size);
      marks.unshift(...(size === 2 ? [answer] : unit(size, answer)));
    }
    return marks;
  },
  bare: ({ k }, sizes, lie) => ofOne(k, lie),
  behind({ k }, sizes, lie, step) {
    const q = chanceOf(lie) / (k - 1);
    const gain = 1 - k * q;
    const falls = sizes.map((size) => Math.exp(-(size === 2 ? step : 2 * step)));
    const rest = q * times(sizes.map((size, item) => 1 + (size - 1) * falls[item]));
    return up(Math.log((gain + rest) / (gain * times(falls) + rest)));
  },
  chances: ({ k }, sizes, truth) => ({ p: truth, q: (1 - truth) / (k - 1) }),
  holds: ({ k, p, alone }) => p > 1 / k && alone > 1 / k,
};

/** A mark for every value. */
const BITS = {
  words: ({ k }) => k,
  lie: ({ p }) => lying(2n, exact(p)),
  toss: ({ k }, sizes, value, lie, next) =>
    Array.from({ length: k }, (_, v) => Number(next() >> 1n < (v === value ? SCALE >> 1n : lie))),
  bare: (mechanism, sizes, lie) => ofOne(2, lie),
  behind: (mechanism, sizes, lie, step) => TOGETHER.behind({ k: 2 }, [2], lie, step),
  chances: (mechanism, sizes, truth) => ({ p: 0.5, q: 1 - truth }),
  holds: ({ p, alone }) => p > 0.5 && alone > 0.5,
};

// Logarithms of n choose m, and of sums of what logarithms are of.
const logs = [0];
function logComb(n, m) {
  if (m < 0 || m > n) return -Infinity;
  for (let i = logs.length; i <= n; i++) logs.push(logs[i - 1] + Math.log(i));
  return logs[n] - logs[m] - logs[n - m];
}
function logSum(terms) {
  const largest = Math.max(...terms);
  if (largest === -Infinity) return largest;
  return largest + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - largest), 0));
}

/** A set of some values, the true one likely among them. */
const SUBSET = {
  words: (mechanism, [size]) => 1 + size,
  lie: ({ p }) => SCALE - wordsDown(exact(p)),
  // The others in the set by Floyd's method, as places among all but the true value.
  toss({ k }, [size], value, lie, next) {
    const [first, ...draws] = Array.from({ length: 1 + size }, next);
    const isIn = first >> 1n < SCALE - lie;
    const count = isIn ? size - 1 : size;
    const chosen = new Set();
    for (let draw = 0, last = k - 1 - count; last < k - 1; draw++, last++) {
      const place = Number((draws[draw] * BigInt(last + 1)) >> 64n);
      chosen.add(chosen.has(place) ? last : place);
    }
    const named = new Set([...chosen].map((place) => place + Number(place >= value)));
    if (isIn) named.add(value);
    return Array.from({ length: k }, (_, v) => Number(named.has(v)));
  },
  bare({ k }, [size], lie) {
    const named = (SCALE - lie) * BigInt(k - size);
    const unnamed = lie * BigInt(size);
    const [high, low] = named >= unnamed ? [named, unnamed] : [unnamed, named];
    return low <= 0n ? Infinity : up(Math.log(Number(high) / Number(low)));
  },
  // Weights are e^step or e^-step for each value; how many of the others have the larger is tried.
  behind({ k }, [size], lie, step) {
    const held = Math.log1p(-chanceOf(lie)) - logComb(k - 1, size - 1);
    const other = Math.log(chanceOf(lie)) - logComb(k - 1, size);
    let most = 0;
    for (let raised = 0; raised < k - 1; raised++) {
      const others = (chosen) =>
        logSum(
          Array.from({ length: size + 1 }, (_, among) => {
            const ways = logComb(raised, among) + logComb(k - 2 - raised, chosen - among);
            return ways + step * (2 * among - chosen);
          }),
        );
      const [both, one, none] = [2, 1, 0].map((left) => others(size - left));
      const seen = (own) => logSum([held + own + one, held + both, other + none, other - own + one]);
      most = Math.max(most, seen(step) - seen(-step));
    }
    return up(most * (1 + 2 ** -30));
  },
  chances: ({ k }, [size], truth) => ({ p: truth, q: (size - truth) / (k - 1) }),
  holds: ({ k, p, alone }, [size]) => p > size / k && alone > size / k,
};

/** A number, told by a window of numbers. */
const shape = ([steps, width]) => ({ steps, width });
const WINDOW = {
  words: () => 1,
  lie: ({ p }, numbers) => windowWords(shape(numbers), p),
  toss: (mechanism, numbers, value, lie, next) => [told(shape(numbers), lie, value, next() >> 1n)],
  bare: (mechanism, numbers, words) => windowLoss(words),
  // The worst place at which report and sum meet: numbers weigh e^(-step · distance from it).
  behind(mechanism, numbers, words, step) {
    const { other, told: often, last } = words;
    const { steps, width } = shape(numbers);
    const most = largestOf({ steps, width });
    let worst = 1;
    for (let peak = 0; peak <= most; peak++) {
      const weights = Array.from({ length: most + 1 }, (_, u) => Math.exp(-step * Math.abs(u - peak)));
      const sum = (from, to) => weights.slice(from, to).reduce((total, one) => total + one, 0);
      const others = chanceOf(other) * sum(0, most + 1);
      const windows = Array.from({ length: steps + 1 }, (_, x) => sum(x, x + width));
      const high = others + chanceOf(often - other) * Math.max(...windows);
      const low = others + chanceOf(last - other) * Math.min(...windows);
      worst = Math.max(worst, high / low);
    }
    return Math.min(up(Math.log(worst)), windowLoss(words));
  },
  chances: (mechanism, numbers, truth) => spreadOf(shape(numbers), truth),
  holds: ({ p, alone }, numbers) => isLikely(shape(numbers), p) && isLikely(shape(numbers), alone),
  largest: (mechanism, numbers) => largestOf(shape(numbers)),
};

/** The loss of a window: a number of it, by another one. */
export function windowLoss({ other, told: often, last }) {
  const low = other < last ? other : last;
  return low <= 0n ? Infinity : up(Math.log(Number(often) / Number(low)));
}

const COINS = { rr: TOGETHER, block: TOGETHER, oue: BITS, subset: SUBSET, window: WINDOW };

/** The coin of a mechanism, and its numbers: the sizes of items, or the size of the set. */
function coinOf({ k, coin }) {
  const [name, ...numbers] = Array.isArray(coin) ? coin : [coin];
  return [COINS[name], name === "rr" ? [k] : numbers];
}

/** Whether this is the coin of a document for k values. */
export function isCoin(k, coin) {
  if (coin === "rr") return true;
  if (k === 2) return isWindow(coin);
  if (coin === "oue") return true;
  if (!Array.isArray(coin)) return false;
  const [name, ...numbers] = coin;
  if (name === "subset") {
    return numbers.length === 1 && Number.isInteger(numbers[0]) && numbers[0] >= 1 && numbers[0] < k;
  }
  return name === "block" && numbers.length >= 2 && numbers.every(isDomain) && times(numbers) === k;
}

/** The sizes of the items that are answered together; null for one item. */
export const itemsOf = ({ coin }) => (Array.isArray(coin) && coin[0] === "block" ? coin.slice(1) : null);

/** How many whole numbers a card and a report have. */
export function numbersOf(mechanism) {
  const sizes = itemsOf(mechanism);
  if (sizes !== null) return widths(sizes).reduce((sum, width) => sum + width, 0);
  return mechanism.k === 2 ? 1 : mechanism.k;
}

const call = (name, mechanism, ...rest) => {
  const [coin, numbers] = coinOf(mechanism);
  return coin[name](mechanism, numbers, ...rest);
};

export const wordsOf = (mechanism) => call("words", mechanism);
export const toss = (mechanism, value, lie, next) => call("toss", mechanism, value, lie, next);
export const chancesOf = (mechanism, truth) => call("chances", mechanism, truth);

/** Words that lie in the coin where its strength is p. */
export function lieOf(mechanism, p) {
  const [coin, numbers] = coinOf(mechanism);
  return coin.lie({ k: mechanism.k, p }, numbers);
}

/** Whether the coin tells more than guessing, with a card and without, as losses are computed for. */
export const holdsFor = (mechanism) => call("holds", mechanism);

/** The largest number that the coin says. */
export const largestSaid = (mechanism) => (coinOf(mechanism)[0].largest === undefined ? 1 : call("largest", mechanism));

/** Which numbers the coin can say: how many, the largest, and neighbours that have a fixed sum. */
export function shapeOf(mechanism) {
  const { k, coin } = mechanism;
  const isOne = coin === "rr" && k > 2 ? [[0, k, 1]] : [];
  const isSet = Array.isArray(coin) && coin[0] === "subset" ? [[0, k, coin[1]]] : isOne;
  const sizes = widths(itemsOf(mechanism) ?? []);
  const edges = sizes.map((width, at) => [sizes.slice(0, at).reduce((sum, one) => sum + one, 0), width]);
  const items = edges.filter(([, width]) => width > 1).map(([start, width]) => [start, start + width, 1]);
  return { numbers: numbersOf(mechanism), largest: largestSaid(mechanism), sums: sizes.length > 0 ? items : isSet };
}

/** The loss of the coin by itself, and behind masks whose weight changes by e^step at most. */
export const bareLoss = (mechanism, lie) => call("bare", mechanism, lie);
export const lossBehind = (mechanism, lie, step) => call("behind", mechanism, lie, step);
