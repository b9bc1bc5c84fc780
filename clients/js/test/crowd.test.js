import assert from "node:assert/strict";
import { test } from "node:test";

import { crowd, madeUpCards, madeUpReports, rowsOf } from "../page/crowd.js";
import { checkCard, deals, readSurvey } from "../src/index.js";
import { answersOf } from "../src/questions.js";
import { golden } from "./golden.js";

const { surveys, "number in steps": stepped } = golden("contributors");
const RUNS = 12;
const mean = (list) => list.reduce((sum, entry) => sum + entry, 0) / list.length;

for (const [name, { document }] of Object.entries({ ...surveys, ...stepped })) {
  test(`a made-up crowd of ${name}: its cards are cards, its estimate is right on average`, async () => {
    const { sensitive, languages } = await readSurvey(new TextEncoder().encode(document));
    const [{ mechanism, question }] = sensitive;
    const labels = question.kind === "number" ? ["low", "high"] : answersOf(question, languages);
    for (const card of madeUpCards(mechanism, 20)) {
      if (mechanism.dealers > 1) card.forEach((one) => checkCard(mechanism, one));
      else if (deals(mechanism)) checkCard(mechanism, card);
      else assert.equal(card, null);
    }
    const value = labels.length === 2 ? 0 : 1;
    const estimates = Array.from({ length: RUNS }, () => crowd(mechanism, value, 0.3).estimate);
    const centre = mean(estimates);
    const spread = Math.sqrt(mean(estimates.map((one) => (one - centre) ** 2)) / (RUNS - 1));
    const fits = (share) => Math.abs(centre - share) < 10 * spread; // by chance once in a million
    assert.ok(fits(0.3), `${centre} ± ${spread}`);
    if (20 * spread < 0.09) assert.ok(!fits(0.39)); // 30% off would be noticed
    const rows = rowsOf(mechanism, labels, [1, 0]);
    for (const report of madeUpReports(mechanism, 1, 20)) {
      for (const row of rows.find(report)) assert.ok(rows.names[row] !== undefined);
    }
  });
}
