// Proves statements that Python wrote, for Python to check: node verified.mjs < statements.json

import { readFileSync } from "node:fs";
import { readNumber, readPoint } from "../../clients/js/verified/group.js";
import { possible, prove } from "../../clients/js/verified/proofs.js";

const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const proofs = JSON.parse(readFileSync(0, "utf8")).map((one) => {
  const statement = {
    binding: bytes(one.binding),
    possible: possible(one.numbers, one.largest, one.sums),
    commitments: one.commitments.map((point) => readPoint(bytes(point))),
    reports: one.reports,
  };
  const blindings = one.blindings.map((number) => readNumber(bytes(number)));
  return Buffer.from(prove(statement, one.said, blindings)).toString("hex");
});
console.log(JSON.stringify(proofs));
