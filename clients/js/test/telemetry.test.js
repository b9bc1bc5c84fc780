import assert from "node:assert/strict";
import { test } from "node:test";

import { HeavyHitters, Longitudinal, Numbers, RangeTree, headerLine, lineOf, readAsked, respond } from "../src/index.js";
import { golden } from "./golden.js";

const cases = golden("telemetry");
const documents = cases.map(({ asked }) => asked);
const of = (name) => structuredClone(documents.find(({ mechanism }) => mechanism === name));

/** These words, and a refusal where more are asked for. */
function exactly(words) {
  const rest = words.map(BigInt);
  const next = () => {
    assert.ok(rest.length, "more words than Python draws");
    return rest.shift();
  };
  return { next, done: () => assert.equal(rest.length, 0, "fewer words than Python draws") };
}

for (const { asked, vectors } of cases) {
  test(`lines as Python writes them: ${asked.mechanism}, ${JSON.stringify(asked).slice(0, 120)}`, () => {
    const made = readAsked(asked);
    for (const { held, remembered, memory, card, dealt = null, words, report } of vectors) {
      const source = exactly(words);
      let told;
      if (made instanceof Longitudinal) {
        const drawn = exactly(remembered);
        assert.deepEqual(made.remember(drawn.next), memory);
        drawn.done();
        told = made.respond(held, memory, card, source.next);
      } else if (made instanceof RangeTree) told = made.respond(held, dealt, source.next);
      else if (made instanceof Numbers) told = made.respond(held, card, source.next);
      else told = made.respond(held, source.next);
      assert.deepEqual(told, report);
      source.done();
    }
  });
}

test("a header says what was asked", () => {
  for (const document of documents) {
    const line = headerLine(readAsked(document));
    const { mechanism, ...number } = document;
    const said = typeof mechanism === "object" ? { mechanism, number } : { mechanism: document };
    assert.deepEqual(JSON.parse(line), { jrr: 1, holds: "reports", ...said });
    assert.deepEqual(readAsked(JSON.parse(line)).document, document);
  }
  const rr = { mechanism: "RR", k: 2, p: 0.75 };
  assert.deepEqual(readAsked(rr), rr);
  assert.deepEqual(JSON.parse(headerLine(rr)).mechanism, rr);
  assert.ok([0, 1].includes(respond(readAsked(JSON.parse(headerLine(rr))), 1)));
  assert.ok([0, 1].includes(lineOf(rr, 1)));
});

test("a line says whether there was a card, where cards are dealt", () => {
  const { fresh } = documents.find(({ fresh }) => fresh?.mechanism === "DRR");
  assert.deepEqual(lineOf(fresh, 1, 0, exactly(["18446744073709551615"]).next), { carded: true, report: 1 });
  assert.equal(lineOf(fresh, 1).carded, false);
});

test("reports with the system's randomness", () => {
  const daily = new Longitudinal(of("Longitudinal"));
  const memory = daily.remember();
  assert.equal(memory.length, daily.k);
  const [level, [seed, bucket]] = new HeavyHitters(of("HeavyHitters")).respond("cab");
  assert.ok(level < 3 && /^\d+$/u.test(seed) && Number.isInteger(bucket));
  const tree = new RangeTree(of("RangeTree"));
  const levels = new Set(Array.from({ length: 200 }, () => tree.respond(5)[0]));
  assert.equal(levels.size, tree.mechanisms.length);
});

test("what a device cannot hold is refused, and not repeated", () => {
  const search = new HeavyHitters(of("HeavyHitters"));
  for (const string of ["secret!", 7, null, undefined]) {
    assert.throws(() => search.respond(string), (error) => error.kind === "answer" && !/secret/u.test(error.message));
  }
  const tree = new RangeTree(of("RangeTree"));
  for (const number of [-0.001, 10.1, NaN, "5", null]) assert.throws(() => tree.respond(number), { kind: "answer" });
  for (const dealt of [{ level: 9, card: null }, 1]) assert.throws(() => tree.respond(5, dealt), { kind: "card" });
  const daily = new Longitudinal(of("Longitudinal"));
  assert.throws(() => daily.respond(3, [0, 1, 2]), { kind: "answer" });
  for (const memory of [[0, 1], [0, 1, 3], null]) assert.throws(() => daily.respond(0, memory), { kind: "memory" });
  for (const asked of [search, tree, daily]) assert.throws(() => lineOf(asked, 1), { kind: "mechanism" });
});

test("documents that Python would not write are refused", () => {
  const number = { low: 0, high: 24, clip: false };
  const rr = { mechanism: "RR", k: 2, p: 0.75 };
  const header = (change) => ({ jrr: 1, holds: "reports", mechanism: rr, number: { ...number, ...change } });
  assert.throws(() => readAsked(header({})).respond(24.5), { kind: "answer" });
  for (const change of [{ low: 24 }, { low: "0" }, { clip: 1 }, { more: 1 }, { high: Infinity }, { mechanism: { ...rr, k: 3 } }]) {
    assert.throws(() => readAsked({ ...number, mechanism: rr, ...change }), JSON.stringify(change));
  }
  assert.throws(() => readAsked({ ...header({}), number: 3 }));
  const wrong = [
    ["Longitudinal", { permanent: { mechanism: "RR", k: 2, p: 0.75 } }],
    ["Longitudinal", { fresh: { mechanism: "RR", k: 3, p: 2 } }],
    ["Longitudinal", { more: 1 }],
    ["HeavyHitters", { levels: [5, 2, 6] }],
    ["HeavyHitters", { levels: [2, 5] }],
    ["HeavyHitters", { levels: [] }],
    ["HeavyHitters", { hashed: { mechanism: "RR", k: 2, p: 0.75 } }],
    ["HeavyHitters", { words: { alphabet: "aa", length: 6, fixed: false, cut: true } }],
    ["HeavyHitters", { words: { alphabet: "ab", length: 6, fixed: 1, cut: true } }],
    ["RangeTree", { low: 20 }],
    ["RangeTree", { branching: 2 }],
    ["RangeTree", { mechanisms: [] }],
    ["RangeTree", { mechanisms: [{ mechanism: "RR", k: 3, p: 0.9 }] }],
    ["RangeTree", { clip: "yes" }],
  ];
  for (const [name, fields] of wrong) {
    assert.throws(() => readAsked({ ...of(name), ...fields }), { kind: "mechanism" }, JSON.stringify(fields));
  }
  for (const document of [null, {}, { mechanism: "Nothing" }, 7]) assert.throws(() => readAsked(document));
});
