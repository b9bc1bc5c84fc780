// The mapping (mechanism, value, card, word) -> report of the JavaScript client, which was written
// from docs/protocol.md and not from the Python code. Reads golden vectors and exits with 1 where
// a report differs.
//
//     node respond.mjs [respond.json]

import { readFileSync } from "node:fs";

import { reportFromWords } from "../../clients/js/src/mechanisms.js";

const path = process.argv[2] ?? new URL("respond.json", import.meta.url);
let checked = 0;
let wrong = 0;
for (const { mechanism, vectors } of JSON.parse(readFileSync(path, "utf8"))) {
  for (const { word, words = [word], value, card, report } of vectors) {
    const got = reportFromWords(mechanism, value, card, words.map(BigInt));
    checked += 1;
    if (JSON.stringify(got) !== JSON.stringify(report)) {
      wrong += 1;
      console.error(JSON.stringify({ mechanism, words, value, card, report, got }));
    }
  }
}
console.log(`${checked} vectors, ${wrong} wrong`);
process.exit(checked > 0 && wrong === 0 ? 0 : 1);
