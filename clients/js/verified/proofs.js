// Proofs that the answer behind a mask is a possible one; the same as
// src/jrr/dealing/verified/proofs.py, where the mathematics is explained.

import {
  OTHER_BASE, SIZE, ZERO, asNumber, base, digest, joined, littleEndian, modulo, numberBytes,
  randomNumber, readNumber, times,
} from "./group.js";

/**
 * Which numbers a coin can say: so many, each one of 0 to `largest`; `sums`: of neighbours that have
 * a fixed sum, the first, one behind the last, and the sum.
 */
export const possible = (numbers, largest = 1, sums = []) => ({ numbers, largest, sums });

/** Bytes of a proof. */
export const proofSize = ({ numbers, largest, sums }) => SIZE * (1 + numbers * (2 * largest + 1) + sums.length);

function allows({ numbers, largest, sums }, said) {
  const sum = (start, end) => said.slice(start, end).reduce((left, right) => left + right, 0);
  return said.length === numbers
    && said.every((one) => Number.isInteger(one) && one >= 0 && one <= largest)
    && sums.every(([start, end, whole]) => sum(start, end) === whole);
}

/** What is left of each report without its mask: a commitment to what the coin said. */
const leftOf = ({ reports, commitments }) => reports.map((report, at) => base(report).subtract(commitments[at]));

function challengeOf({ binding, possible: { numbers, largest, sums }, commitments, reports }, firsts) {
  const shape = [numbers, largest, ...sums.flat()].map((number) => littleEndian(number, 4));
  return asNumber(digest(
    "proof",
    binding,
    joined(...shape),
    joined(...commitments.map((point) => point.toBytes())),
    joined(...reports.map(numberBytes)),
    joined(...firsts.map((point) => point.toBytes())),
  ));
}

/** What must be a multiple of the second base if the commitment holds 0, 1, and so on. */
const branches = (point, largest) => Array.from({ length: largest + 1 }, (_, value) => point.subtract(base(value)));

/** The first move that fits a challenge and its answer. */
const first = (point, challenge, answer) => times(answer, OTHER_BASE).subtract(times(challenge, point));

const added = (numbers) => numbers.reduce((left, right) => modulo(left + right), 0n);

const sumPoint = (left, [start, end, whole]) => left.slice(start, end).reduce((sum, point) => sum.add(point), ZERO).subtract(base(whole));

/** A proof of a statement: `binding`, `possible`, `commitments` (points) and `reports`. */
export function prove(statement, said, blindings) {
  const { largest, sums } = statement.possible;
  if (!allows(statement.possible, said)) throw new Error("said must be numbers that the coin can say");
  const firsts = [];
  const open = leftOf(statement).map((point, at) => {
    const asked = Array.from({ length: largest + 1 }, randomNumber);
    const given = Array.from({ length: largest + 1 }, randomNumber);
    branches(point, largest).forEach((branch, value) => {
      // Of the true value `given` is the nonce until the challenge is known.
      firsts.push(value === said[at] ? times(given[value], OTHER_BASE) : first(branch, asked[value], given[value]));
    });
    return { asked, given };
  });
  const nonces = sums.map(randomNumber);
  firsts.push(...nonces.map((nonce) => times(nonce, OTHER_BASE)));
  const challenge = challengeOf(statement, firsts);
  const parts = [challenge];
  open.forEach(({ asked, given }, at) => {
    const own = said[at];
    asked[own] = modulo(challenge - added(asked) + asked[own]);
    given[own] = modulo(given[own] - asked[own] * blindings[at]);
    parts.push(...asked.slice(0, -1), ...given);
  });
  sums.forEach(([start, end], at) => {
    parts.push(modulo(nonces[at] - challenge * added(blindings.slice(start, end))));
  });
  return joined(...parts.map(numberBytes));
}

/** Whether a proof proves a statement. */
export function verifies(statement, proof) {
  const { largest, sums } = statement.possible;
  if (proof.length !== proofSize(statement.possible)) return false;
  const numbers = [];
  for (let at = 0; at < proof.length; at += SIZE) numbers.push(readNumber(proof.subarray(at, at + SIZE)));
  if (numbers.includes(null)) return false;
  const challenge = numbers.shift();
  const left = leftOf(statement);
  const firsts = left.flatMap((point) => {
    const asked = numbers.splice(0, largest);
    asked.push(modulo(challenge - added(asked)));
    const given = numbers.splice(0, largest + 1);
    return branches(point, largest).map((branch, value) => first(branch, asked[value], given[value]));
  });
  for (const sum of sums) firsts.push(first(sumPoint(left, sum), challenge, numbers.shift()));
  return challengeOf(statement, firsts) === challenge;
}
