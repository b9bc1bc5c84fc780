// Many reports of the JavaScript client from the words of SeededRandom (docs/protocol.md), one report
// after another.
//
// Reads {mechanism, seed, values, cards} from stdin, cards null where there are none; writes reports.

import { createCipheriv, createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { reportFrom } from "../../clients/js/src/mechanisms.js";

const WORDS = 1 << 15; // drawn at a time
const { mechanism, seed, values, cards } = JSON.parse(readFileSync(0, "utf8"));
const key = createHash("sha256").update(`jrr seeded words 1:${seed}`).digest();
const stream = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
let [block, at] = [Buffer.alloc(0), 0];
const next = () => {
  if (at === block.length) [block, at] = [stream.update(Buffer.alloc(8 * WORDS)), 0];
  at += 8;
  return block.readBigUInt64LE(at - 8);
};
const reports = values.map((value, person) =>
  reportFrom(mechanism, value, cards === null ? null : cards[person], next),
);
process.stdout.write(JSON.stringify(reports));
