import assert from "node:assert/strict";
import { test } from "node:test";

import { saysTheSame } from "../page/introduction.js";
import { peopleOf100 } from "../src/costs.js";

const found = { after: "24", figures: ["10", "100", "24", "76", "70"] };

test("what the device computed is shown above unless the text says exactly that", () => {
  const isSame = (...shown) => saysTheSame(shown, found);
  assert.equal(isSame("In 2026 we ask 1,000.", "Say 10 in 100. Of 100, at most 24. At least 76. It can be 70."), true);
  assert.equal(isSame("Say 10 in 100. Of 100, at most 11 have it. At least 89 do not."), false);
  assert.equal(isSame("Of 100, at most 12 have it.", "By the way, 24 of 100 people like tea."), false);
  assert.equal(isSame("Of 100, at most 24.5."), false);
  assert.equal(isSame("From 10% to 11%. Of 100, at most 24."), false);
  assert.equal(isSame("Nothing is learned."), false);
  assert.equal(saysTheSame(["Of 100, at most 100."], { after: "100", figures: ["100"] }), false);
});

test("people among 100 are never too few", () => {
  const cases = [[0, 10], [1, 24], [2, 46], [Math.log(9), 50], [5, 95], [8, 100], [Infinity, 100]];
  for (const [epsilon, people] of cases) assert.equal(peopleOf100(epsilon), people);
});
