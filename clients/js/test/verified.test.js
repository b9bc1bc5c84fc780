// Verified cards: the golden vectors that Python wrote, and what must be refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addedCards, cardFrom, dealerContext, isSigned, keyOf, reportBinding, surveyContext } from "../verified/cards.js";
import { ORDER, OTHER_BASE, base, commit, digest, joined, numberBytes, randomNumber, readNumber, readPoint, times, utf8, wholeOf } from "../verified/group.js";
import { possible, prove, proofSize, verifies } from "../verified/proofs.js";
import { Stream } from "../verified/stream.js";
import { golden } from "./golden.js";

const vectors = golden("verified");
const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const hex = (array) => Buffer.from(array).toString("hex");
const points = (listed) => listed.map((one) => readPoint(bytes(one)));

test("hashes, multiples and drawn numbers are those of Python", () => {
  for (const { domain, parts, digest: found } of vectors.digest) {
    assert.equal(hex(digest(domain, ...parts.map(bytes))), found);
  }
  assert.equal(hex(OTHER_BASE.toBytes()), vectors.other_base);
  assert.deepEqual(vectors.multiples.map((_, at) => hex(base(at).toBytes())), vectors.multiples);
  for (const { rate, numbers } of vectors.laplace) {
    const stream = new Stream("test", utf8(String(Number.isInteger(rate) ? `${rate}.0` : rate)));
    assert.deepEqual(numbers.map(() => stream.laplace(rate)), numbers, rate);
  }
});

test("cards, signatures and bindings are those of Python", () => {
  const { survey, laws, dealers, context, binding, both } = vectors.cards;
  const contexts = [];
  const drawn = [];
  for (const dealer of dealers) {
    const promise = JSON.parse(dealer.promise);
    const mine = dealerContext(bytes(survey), utf8(dealer.promise));
    assert.equal(hex(mine), dealer.context);
    contexts.push(mine);
    const asked = { serial: bytes(dealer.serial), nonce: bytes(dealer.nonce) };
    const evaluation = bytes(dealer.evaluation);
    const key = keyOf(bytes(promise.cards), mine, asked, evaluation);
    for (const [question, told] of Object.entries(dealer.cards)) {
      const card = cardFrom(key, question, laws[question]);
      assert.deepEqual(card.masks, told.masks);
      assert.deepEqual(card.blindings.map((one) => hex(numberBytes(one))), told.blindings);
      assert.deepEqual(card.commitments.map((one) => hex(one.toBytes())), told.commitments);
      const signature = bytes(told.signature);
      assert.ok(isSigned(bytes(promise.signing), mine, question, asked.serial, card, signature));
      assert.ok(!isSigned(bytes(promise.signing), mine, "another", asked.serial, card, signature));
      signature[3] ^= 1;
      assert.ok(!isSigned(bytes(promise.signing), mine, question, asked.serial, card, signature));
    }
    drawn.push(cardFrom(key, "größe", laws["größe"]));
    for (const [part, at] of [[evaluation, 0], [evaluation, 40], [asked.serial, 0], [asked.nonce, 0]]) {
      part[at] ^= 1; // another element, proof, serial or nonce
      assert.equal(keyOf(bytes(promise.cards), mine, asked, evaluation), null);
      part[at] ^= 1;
    }
  }
  assert.equal(hex(surveyContext(bytes(survey), contexts)), context);
  const serials = dealers.map(({ serial }) => bytes(serial));
  const name = Uint8Array.from({ length: 32 }, (_, at) => 100 + at);
  assert.equal(hex(reportBinding(bytes(context), "größe", name, serials)), binding);
  assert.equal(hex(reportBinding(bytes(context), "größe", name, [null, serials[1]])), vectors.cards["one left out"]);
  const sum = addedCards(drawn);
  assert.deepEqual(sum.masks, both.masks);
  assert.deepEqual(sum.commitments.map((one) => hex(one.toBytes())), both.commitments);
});

test("Python's proofs hold, and our own; changed ones do not", () => {
  for (const { binding, numbers, largest, sums, commitments, blindings, reports, said, proof } of vectors.proofs) {
    const statement = {
      binding: bytes(binding), possible: possible(numbers, largest, sums), commitments: points(commitments), reports,
    };
    assert.ok(verifies(statement, bytes(proof)));
    const ours = prove(statement, said, blindings.map((one) => readNumber(bytes(one))));
    assert.equal(ours.length, proofSize(statement.possible));
    assert.ok(verifies(statement, ours));
    ours[33] ^= 1;
    assert.ok(!verifies(statement, ours));
    assert.ok(!verifies({ ...statement, binding: bytes(binding).fill(0) }, bytes(proof)));
    const others = [reports[0] + 1, ...reports.slice(1)];
    assert.ok(!verifies({ ...statement, reports: others }, bytes(proof)));
    assert.ok(!verifies(statement, bytes(proof).subarray(1)));
    // The same number in another encoding is refused.
    const more = numberBytes(0n);
    const written = wholeOf(bytes(proof).subarray(0, 32)) + ORDER;
    for (let at = 0, rest = written; at < 32; at += 1, rest >>= 8n) more[at] = Number(rest & 255n);
    assert.ok(!verifies(statement, joined(more, bytes(proof).subarray(32))));
  }
});

test("nothing is proved that a coin cannot say", () => {
  const blindings = [randomNumber(), randomNumber()];
  const commitments = blindings.map((one, at) => commit(at, one));
  const shape = possible(2, 1, [[0, 2, 1]]);
  for (const said of [[0, 0], [1, 1], [2, -1], [0.5, 0.5], [1]]) {
    const reports = [said[0], (said[1] ?? 0) + 1];
    const statement = { binding: new Uint8Array(64), possible: shape, commitments, reports };
    assert.throws(() => prove(statement, said, blindings), /coin can say/);
  }
});

test("points and numbers have one encoding, and the identity is none", () => {
  assert.equal(readPoint(new Uint8Array(32)), null); // the identity
  assert.equal(readPoint(new Uint8Array(31)), null);
  assert.equal(readPoint(new Uint8Array(32).fill(255)), null);
  assert.equal(readPoint(Uint8Array.from({ length: 32 }, (_, at) => Number(at === 0))), null); // odd: negative
  const point = times(randomNumber(), OTHER_BASE);
  assert.ok(readPoint(point.toBytes()).equals(point));
  const high = point.toBytes();
  high[31] |= 128;
  assert.equal(readPoint(high), null);
  assert.equal(readNumber(numberBytes(ORDER - 1n)), ORDER - 1n);
  const order = Uint8Array.from({ length: 32 }, (_, at) => Number((ORDER >> BigInt(8 * at)) & 255n));
  assert.equal(readNumber(order), null);
  assert.ok(times(0n, OTHER_BASE).is0() && times(ORDER, OTHER_BASE).is0());
});
