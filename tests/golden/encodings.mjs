// The encodings' mapping (mechanism, value, card, words) -> report of the JavaScript client, which
// was written from docs/protocol.md and not from the Python code. Reads golden vectors and exits
// with 1 where a report differs or takes another number of words.
//
//     node encodings.mjs [encodings.json or subsets.json]

import { readFileSync } from "node:fs";

import { reportFromWords } from "../../clients/js/src/mechanisms.js";

const path = process.argv[2] ?? new URL("encodings.json", import.meta.url);
let checked = 0;
let wrong = 0;
for (const { mechanism, vectors } of JSON.parse(readFileSync(path, "utf8"))) {
  for (const { words, value, card = null, report } of vectors) {
    const expected = typeof report === "string" ? report : [report.seed, report.value];
    let got;
    try {
      got = reportFromWords(mechanism, value, card, words.map(BigInt));
    } catch (error) {
      got = error.message; // of a word too many or too few
    }
    checked += 1;
    if (JSON.stringify(got) !== JSON.stringify(expected)) {
      wrong += 1;
      console.error(JSON.stringify({ mechanism, words, value, card, report, got }));
    }
  }
}
console.log(`${checked} vectors, ${wrong} wrong`);
process.exit(checked > 0 && wrong === 0 ? 0 : 1);
