import assert from "node:assert/strict";
import { test } from "node:test";

import { oneNumber } from "../page/introduction.js";

const computed = { figures: ["10%", "23.2%"], line: "line" };

test("what the device computed is shown above unless the text says exactly that", () => {
  const isHidden = (...shown) => oneNumber(shown, computed).above.length === 0;
  assert.equal(isHidden("Safe.", "Who thinks it 10 % likely comes to at most 23.2\u00a0%."), true);
  assert.equal(isHidden("Who thinks it 10% likely comes to at most 11%."), false);
  assert.equal(isHidden("It stays at 11%.", "By the way, 23.2% of people like tea."), false);
  assert.equal(isHidden("From 10% to 123.2%."), false);
  assert.equal(isHidden("Nothing is learned."), false);
});
