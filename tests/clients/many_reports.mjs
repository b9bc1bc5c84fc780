// Many reports of the JavaScript client from the words of SeededRandom (docs/protocol.md).
//
// Reads {mechanism, seed, values, cards} from stdin, cards null where there are none; writes reports.

import { createCipheriv, createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { reportFromWords, wordsNeeded } from "../../clients/js/src/index.js";

const { mechanism, seed, values, cards } = JSON.parse(readFileSync(0, "utf8"));
const key = createHash("sha256").update(`jrr seeded words 1:${seed}`).digest();
const needed = wordsNeeded(mechanism);
const stream = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
const bytes = stream.update(Buffer.alloc(8 * needed * values.length));
const reports = values.map((value, at) => {
  const words = Array.from({ length: needed }, (_, j) => bytes.readBigUInt64LE(8 * (needed * at + j)));
  return reportFromWords(mechanism, value, cards === null ? null : cards[at], words);
});
process.stdout.write(JSON.stringify(reports));
