import assert from "node:assert/strict";
import { test } from "node:test";

import { rounded } from "../page/introduction.js";
import { peopleOf100 } from "../src/costs.js";

test("losses have four digits, rounded up, as Python shows them", () => {
  const cases = [[0.508436, "0.5085"], [1, "1"], [1.1166, "1.117"], [12.3456, "12.35"], [0, "0"], [0.1 + 0.2, "0.3"]];
  for (const [epsilon, shown] of cases) assert.equal(rounded(epsilon, "en"), shown);
  assert.equal(rounded(0.508436, "de"), "0,5085");
});

test("people among 100 are rounded up", () => {
  const cases = [[0, 10], [1, 24], [2, 46], [Math.log(9), 50], [5, 95], [8, 100], [Infinity, 100]];
  for (const [epsilon, people] of cases) assert.equal(peopleOf100(epsilon), people);
});
