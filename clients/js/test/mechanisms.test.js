import assert from "node:assert/strict";
import { test } from "node:test";

import {
  chances, checkCard, checkMechanism, reportFromWords, respond, roundedNumber,
  supports, wordsNeeded,
} from "../src/index.js";
import { losses } from "../src/loss.js";
import { golden } from "./golden.js";

const { masked, several, stepped, rounded, number } = golden("contributors");
const encoded = [...golden("encodings"), ...golden("subsets")];
const coins = golden("coins");

for (const { mechanism, vectors } of [...golden("respond"), ...masked, ...several, ...stepped, ...encoded, ...coins]) {
  test(`reports as Python makes them: ${JSON.stringify(mechanism)}`, () => {
    checkMechanism(mechanism);
    for (const { word, words = [word], value, card = null, report } of vectors) {
      const made = reportFromWords(mechanism, value, card, words.map(BigInt));
      assert.deepEqual(made, report.seed === undefined ? report : [report.seed, report.value]);
      assert.ok(words.length >= wordsNeeded(mechanism));
    }
  });
}

for (const { mechanism, losses: stated } of coins) {
  test(`losses as Python states them, rounded up: ${mechanism.coin}`, () => {
    for (const [view, epsilon] of Object.entries(stated)) {
      const own = losses(mechanism)[view];
      assert.ok(own >= epsilon && own < epsilon * 1.000001, `${view}: ${own} and ${epsilon}`);
    }
  });
}

test("coins that tell the truth less often than by guessing", () => {
  for (const { mechanism } of coins) {
    for (const strength of [{ p: 1e-4 }, { alone: 1e-4 }]) {
      assert.throws(() => checkMechanism({ ...mechanism, ...strength }), { kind: "mechanism" });
    }
  }
  for (const { mechanism } of masked) {
    assert.throws(() => checkMechanism({ ...mechanism, p: 1e-4 }), { kind: "mechanism" });
  }
});

test("coins that there are not", () => {
  const { mechanism } = coins[0];
  for (const coin of [["subset", 0], ["subset", 3], ["subset"], ["block", 3], ["block", 2, 2], ["x"], "subset", {}, null]) {
    assert.throws(() => checkMechanism({ ...mechanism, coin }), { kind: "mechanism" }, JSON.stringify(coin));
  }
  const block = coins.find(({ mechanism: { coin } }) => coin[0] === "block").mechanism;
  for (const value of [0, [0], [0, 2], [0, 1, 0], ["0", 1], null]) {
    assert.throws(() => respond(block, value), { kind: "answer" });
  }
});

test("numbers are rounded to one of two ends as Python does it", () => {
  const { low, high } = JSON.parse(number).questions.at(-1);
  const ends = [low, high];
  for (const { number: answer, word, steps, value } of rounded) {
    assert.equal(roundedNumber(ends, answer, BigInt(word), steps), value);
  }
  for (const wrong of [ends[0] - 1e-9, ends[1] + 1e-9, NaN, "1", null, Infinity]) {
    assert.throws(() => roundedNumber(ends, wrong, 0n), { kind: "answer" });
  }
});

test("what reports speak for has the chances that are told of them", () => {
  for (const mechanism of [
    { mechanism: "RR", k: 3, p: 0.5 }, { mechanism: "SS", k: 5, d: 2, p: 0.7 },
    { mechanism: "OUE", k: 9, q: 0.2, s: 0, coupling: "none", n: null },
    { mechanism: "OLH", k: 6, g: 4, p: 0.5, s: 0, coupling: "none", n: null },
    { mechanism: "DRR", n: 10, truth: 0.3, own: 0.2, k: 2, deck: [7, 3] },
    masked[0].mechanism, masked[2].mechanism,
  ]) {
    const reports = 20_000;
    const found = Array(mechanism.k).fill(0);
    for (let at = 0; at < reports; at++) {
      supports(checkMechanism(mechanism), respond(mechanism, 1)).forEach((by, v) => (found[v] += by));
    }
    const fits = (v, more) => {
      const { p, q } = chances(mechanism, v);
      const chance = (v === 1 ? p : q) * more;
      return Math.abs(found[v] - reports * chance) < 6 * Math.sqrt(reports * chance * (1 - chance));
    };
    assert.ok(found.every((_, v) => fits(v, 1)), mechanism.mechanism);
    assert.ok(!fits(1, 1.3)); // a chance that is 30% off would be noticed
  }
});

test("several dealers only where a card that is cut cannot show", () => {
  const { mechanism } = several[0];
  for (const more of [{ dealers: 17 }, { dealers: 0 }, { dealers: 1.5 }, { card_rate: 0.00125 }]) {
    assert.throws(() => checkMechanism({ ...mechanism, ...more }), { kind: "mechanism" });
  }
  const closed = { ...mechanism, announced_rate: 0, total_rate: 0.3 };
  assert.throws(() => checkMechanism(closed), { kind: "mechanism" });
});

test("a value that is none is refused and not repeated", () => {
  const mechanism = { mechanism: "RR", k: 3, p: 0.5 };
  for (const value of [-1, 3, 1.5, "1", null, undefined, NaN]) {
    assert.throws(() => reportFromWords(mechanism, value, null, [0n]), (error) => {
      assert.equal(error.kind, "answer");
      assert.equal(error.message, "value must be in 0..2");
      return true;
    });
  }
});

test("cards that are not in the deck are refused", () => {
  const joint = { mechanism: "JRR", n: 10, k: 2, p: 0.6, s: 0.2 };
  const dealt = { mechanism: "DRR", n: 3, k: 3, truth: 0.2, own: 0.1, deck: [0, 2, 1] };
  const mask = { ...masked[0].mechanism };
  const bits = { mechanism: "OUE", k: 10, q: 0.3, s: 0.1, coupling: "joint", n: 10 };
  for (const [mechanism, card] of [
    [joint, 0], [joint, 2], [joint, "1"], [dealt, 0], [dealt, 3], [dealt, 0.5],
    [bits, "03"], [bits, "0304"], [bits, "03f"], [bits, 3], [bits, "ff0G"],
    [mask, 1], [mask, [1, 2]], [mask, [1, 2, 1e6]], [mask, [1, 2, 0.5]],
  ]) {
    assert.throws(() => checkCard(mechanism, card), { kind: "card" });
  }
  assert.equal(checkCard(joint, -1), -1);
  assert.equal(checkCard(dealt, 2), 2);
  assert.equal(checkCard(bits, "ff03"), "ff03");
});

test("mechanisms that are not spoken yet are named, damaged ones refused", () => {
  for (const mechanism of ["Gauss", "toString", "__proto__"]) {
    assert.throws(() => checkMechanism({ mechanism }), { name: "UnsupportedError" });
  }
  for (const wrong of [
    null, {}, { mechanism: 1 }, { mechanism: "RR", k: 2 }, { mechanism: "RR", k: 1, p: 0.5 },
    { mechanism: "RR", k: 2, p: 1.5 }, { mechanism: "RR", k: 2, p: 0.5, more: 1 },
    { mechanism: "JRR", n: 10, k: 2, p: 0.6, s: 0.7 },
    { mechanism: "DRR", n: 3, k: 2, truth: 0.1, own: 0.1, deck: [1, 1] },
    { ...masked[0].mechanism, announced_rate: 0.1 },
    { mechanism: "SS", k: 5, d: 5, p: 0.9 }, { mechanism: "SS", k: 5, d: 2, p: 0.4 },
    { mechanism: "OUE", k: 9, q: 0.5, s: 0, coupling: "none", n: null },
    { mechanism: "OUE", k: 9, q: 0.2, s: 0.1, coupling: "none", n: null },
    { mechanism: "OUE", k: 9, q: 0.2, s: 0.1, coupling: "joint", n: null },
    { mechanism: "SUE", k: 9, q: 0.2, s: 0.3, coupling: "dealt", n: 10 },
    { mechanism: "OLH", k: 9, g: 3, p: 0.5, s: 0, coupling: "dealt", n: 10 },
  ]) {
    assert.throws(() => checkMechanism(wrong), { name: "DamagedError" });
  }
});

test("the system's words lie as often as they should", () => {
  const reports = 40_000;
  const check = (p) => {
    let lies = 0;
    for (let at = 0; at < reports; at++) lies += respond({ mechanism: "RR", k: 2, p: 0.7 }, 0);
    const z = (lies - reports * (1 - p)) / Math.sqrt(reports * p * (1 - p));
    return Math.abs(z) < 6; // by chance once in 5·10^8 runs
  };
  assert.ok(check(0.7));
  assert.ok(!check(0.61)); // a lie that is 30% more frequent would be noticed
});
