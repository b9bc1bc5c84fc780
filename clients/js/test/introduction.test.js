import assert from "node:assert/strict";
import { test } from "node:test";

import { rounded, saysTheSame } from "../page/introduction.js";
import { peopleOf100 } from "../src/costs.js";

const line = "Say 10 in 100 have this secret. Of 100 who send what you send, at most 24 have it.";

test("what the device computed is shown above unless the text says exactly that", () => {
  const isSame = (...shown) => saysTheSame(shown, { people: 24, line });
  assert.equal(isSame("In 2026 we ask 1,000.", `Hello. ${line} Thank you.`), true);
  assert.equal(isSame(line.replace("24", "11")), false);
  assert.equal(isSame("Of 100 at most 10 have it. At least 24 surely do not."), false);
  assert.equal(isSame("Of 100 people at most eleven have it (24 universities ask this)."), false);
  assert.equal(isSame(line, "By the way, 11 of 100 people like tea."), false);
  assert.equal(isSame(line, "Only 1% can be found out."), false);
  assert.equal(isSame("Nothing is learned."), false);
  assert.equal(saysTheSame([line], { people: 100, line }), false);
});

test("losses have four digits, rounded up, as Python shows them", () => {
  const cases = [[0.508436, "0.5085"], [1, "1"], [1.1166, "1.117"], [12.3456, "12.35"], [0, "0"], [0.1 + 0.2, "0.3"]];
  for (const [epsilon, shown] of cases) assert.equal(rounded(epsilon, "en"), shown);
  assert.equal(rounded(0.508436, "de"), "0,5085");
});

test("people among 100 are rounded up", () => {
  const cases = [[0, 10], [1, 24], [2, 46], [Math.log(9), 50], [5, 95], [8, 100], [Infinity, 100]];
  for (const [epsilon, people] of cases) assert.equal(peopleOf100(epsilon), people);
});
