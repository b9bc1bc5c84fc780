// Numbers in whole steps with noise: Laplace (no cards) and MaskedLaplace (a card is added first).

import { isPeople, isReal } from "./fields.js";
import { isMask, maskLimit } from "./masks.js";
import { discreteLaplace } from "./whole_noise.js";

const CLAMPED = 40; // reports are clamped where noise is that many times 1/rate: e^-40
const isSteps = (value) => Number.isInteger(value) && value >= 1 && value <= 64;
const isRate = (value) => isReal(value, 0.00125, 700);
const clamp = (number, low, high) => Math.max(low, Math.min(number, high));
const reach = (rate) => Math.ceil(CLAMPED / rate);

function noisy(value, steps, rate, next) {
  return clamp(value + discreteLaplace(rate, next), -reach(rate), reach(rate) + steps);
}

export const Laplace = {
  fields: { steps: isSteps, rate: isRate },
  deals: () => false,
  words: () => 2,
  isCard: () => false,
  respond: ({ steps, rate }, value, card, next) => noisy(value, steps, rate, next),
  chances: () => ({ p: 1, q: 0 }),
};

export const MaskedLaplace = {
  fields: {
    n: isPeople,
    steps: isSteps,
    rate: isRate,
    card_rate: isRate,
    total_rate: (value) => isReal(value, 0, 700),
    announced_rate: (value) => isReal(value, 0, 700),
    alone_rate: isRate,
  },
  holds: ({ total_rate, announced_rate }) => total_rate > 0 !== announced_rate > 0,
  deals: () => true,
  words: () => 2,
  isCard: (mechanism, card) => isMask(card),
  // What the card hides is clamped, so that a card that was cut makes no odds; own noise comes after
  // that, so that it hides all of it.
  respond({ n, steps, rate, card_rate, alone_rate }, value, card, next) {
    if (card === null) return noisy(value, steps, alone_rate, next);
    const limit = maskLimit({ n, k: 2, card_rate });
    const [low, high] = [steps - limit - 1, limit + 1];
    const told = clamp(value + card, low, high) + discreteLaplace(rate, next);
    return clamp(told, low - reach(rate), high + reach(rate));
  },
  resized: (mechanism, n) => ({ ...mechanism, n }),
  chances: () => ({ p: 1, q: 0 }),
};
