import assert from "node:assert/strict";
import { test } from "node:test";

import { checkCard, checkMechanism, reportFromWords, respond } from "../src/index.js";
import { golden } from "./golden.js";

const { masked, several } = golden("contributors");

for (const { mechanism, vectors } of [...golden("respond"), ...masked, ...several]) {
  test(`reports as Python makes them: ${JSON.stringify(mechanism)}`, () => {
    checkMechanism(mechanism);
    for (const { word, words = [word], value, card, report } of vectors) {
      const made = reportFromWords(mechanism, value, card, words.map(BigInt));
      assert.deepEqual(made, report);
    }
  });
}

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
  for (const [mechanism, card] of [
    [joint, 0], [joint, 2], [joint, "1"], [dealt, 0], [dealt, 3], [dealt, 0.5],
    [mask, 1], [mask, [1, 2]], [mask, [1, 2, 1e6]], [mask, [1, 2, 0.5]],
  ]) {
    assert.throws(() => checkCard(mechanism, card), { kind: "card" });
  }
  assert.equal(checkCard(joint, -1), -1);
  assert.equal(checkCard(dealt, 2), 2);
});

test("mechanisms that are not spoken yet are named, damaged ones refused", () => {
  for (const mechanism of ["OUE", "Laplace", "MaskedLaplace", "toString", "__proto__"]) {
    assert.throws(() => checkMechanism({ mechanism }), { name: "UnsupportedError" });
  }
  for (const wrong of [
    null, {}, { mechanism: 1 }, { mechanism: "RR", k: 2 }, { mechanism: "RR", k: 1, p: 0.5 },
    { mechanism: "RR", k: 2, p: 1.5 }, { mechanism: "RR", k: 2, p: 0.5, more: 1 },
    { mechanism: "JRR", n: 10, k: 2, p: 0.6, s: 0.7 },
    { mechanism: "DRR", n: 3, k: 2, truth: 0.1, own: 0.1, deck: [1, 1] },
    { ...masked[0].mechanism, announced_rate: 0.1 },
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
