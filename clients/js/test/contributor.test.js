import assert from "node:assert/strict";
import { test } from "node:test";

import { Contributor, Ledger, MemoryStorage, hashOf } from "../src/index.js";
import { insist, secondsOf } from "../src/steps.js";
import { golden } from "./golden.js";

const { surveys, enrolled, invitation, number } = golden("contributors");
const OPEN = { region: "süd", ämne: "a" };
const SERIAL = "ab".repeat(16);
const TRUTH = (1n << 64n) - 1n; // a word that tells the truth
const problem = (status, kind) => [status, { type: `urn:jrr:problem:${kind}`, detail: kind }];

/** Servers of a survey in one function; `change` may reply instead. */
function world(name, change = () => null, { document, hash } = surveys[name]) {
  const calls = [];
  const fetch = async (address, { method, body }) => {
    const { host, pathname } = new URL(address);
    const call = { host, route: pathname.split(hash)[1], method, body, address };
    calls.push(call);
    const given = change(call, calls.filter((c) => c.host === host && c.route === call.route).length);
    if (given === "silence") throw new TypeError("no network");
    const [status, reply] = given ?? usual(call);
    const text = typeof reply === "string" ? reply : JSON.stringify(reply);
    return new Response(text, { status });
  };
  function usual({ host, route }) {
    if (route === "") return [200, document];
    if (route === "/status") return [200, { state: "open", n: null }];
    if (route === "/cards") return [200, { survey: hash, n: null, cards: { answer: { card: card(host), serial: SERIAL } } }];
    if (route === "/reports") return [201, { received: true }];
    return problem(404, "not-found");
  }
  const card = (host) => (name === "jrr" ? 1 : { "one.example": 3, "two.example:8443": -5 }[host]);
  const link = `https://collector.example:8443/here/v1/surveys/${hash}`;
  const person = (more = {}) =>
    new Contributor(link, {
      limit: 10, invitation, patience: 0.01, fetch, words: (n) => Array(n).fill(TRUTH),
      storage: new MemoryStorage(), ...more,
    });
  return { calls, person, link, sent: () => calls.filter((c) => c.route === "/reports").map((c) => c.body) };
}
/** Answer by the place of a label; a number as it is. */
const answer = async (person, value = 1) => {
  const { questions } = await person.survey();
  const { kind, labels } = questions.at(-1);
  return person.answer({ ...OPEN, answer: kind === "number" ? value : labels[value].en });
};
const reportIn = (body) => ({ pseudonym: JSON.parse(body).pseudonym, ...JSON.parse(body).reports.answer });

test("cards of two dealers are added, their serial numbers sent, names differ everywhere", async () => {
  const { calls, person, sent } = world("mrr");
  const receipt = await answer(person());
  const report = reportIn(sent()[0]);
  assert.equal(receipt.body, sent()[0]);
  assert.equal(report.report, 1 + 3 - 5);
  assert.deepEqual(report.serials, [SERIAL, SERIAL]);
  assert.equal(report.carded, true);
  const asked = calls.filter((c) => c.route === "/cards").map((c) => JSON.parse(c.body));
  const names = [report.pseudonym, ...asked.flatMap((a) => [a.pseudonym, a.device])];
  assert.equal(new Set(names).size, 5);
  assert.ok(names.every((name) => /^[0-9a-f]{64}$/u.test(name)));
});

test("the card is asked for when there is an answer, not before", async () => {
  const { calls, person } = world("mrr");
  const one = person();
  await one.checkReady();
  // Dealers show what they serve, and are told nothing.
  assert.ok(calls.every((c) => c.host === "collector.example:8443" || (c.route === "" && c.body === undefined)));
  await answer(one);
  assert.ok(calls.some((c) => c.route === "/cards"));
});

test("a dealer that may be left out is; with none there is no card", async () => {
  const gone = world("mrr", ({ host }) => (host === "one.example" ? "silence" : null));
  await answer(gone.person());
  const report = reportIn(gone.sent()[0]);
  assert.equal(report.report, 1 - 5);
  assert.deepEqual(report.serials, [null, SERIAL]);
  const none = world("mrr", ({ host }) => (host.startsWith("collector") ? null : "silence"));
  await answer(none.person());
  const alone = reportIn(none.sent()[0]);
  assert.deepEqual([alone.carded, alone.report, "serials" in alone], [false, 1, false]);
});

test("no card where the dealer has none left, or has burned them", async () => {
  for (const given of [problem(404, "no-card-left"), problem(410, "closed"), problem(425, "too-early"), problem(503, "no-key")]) {
    const { person, sent } = world("jrr", ({ route }) => (route === "/cards" ? given : null));
    await answer(person());
    assert.equal(reportIn(sent()[0]).carded, false);
  }
});

test("a dealer that refuses, or serves another survey, ends it: nothing is sent", async () => {
  const other = surveys["mrr of three"].document;
  for (const [change, kind] of [
    [({ route }) => (route === "/cards" ? problem(409, "other-device") : null), "other-device"],
    [({ route }) => (route === "/cards" ? problem(404, "unknown-pseudonym") : null), "unknown-pseudonym"],
    [({ host, route }) => (host === "dealer.example" && route === "" ? [200, other] : null), "different"],
    [({ host, route }) => (host === "dealer.example" && route === "" ? [200, `${surveys.jrr.document} `] : null), "different"],
    [({ route }) => (route === "/cards" ? [200, { cards: { answer: { card: 7 } } }] : null), "card"],
    [({ route }) => (route === "/cards" ? [200, { cards: {} }] : null), "card"],
    [({ route }) => (route === "/cards" ? [200, "no json"] : null), "damaged"],
  ]) {
    const { person, sent } = world("jrr", change);
    await assert.rejects(answer(person()), { kind });
    assert.deepEqual(sent(), []);
  }
});

test("a collector that serves another survey than the link is refused", async () => {
  const { person } = world("jrr", ({ route }) => (route === "" ? [200, surveys.rr.document] : null));
  await assert.rejects(person().survey(), { kind: "different" });
  const dear = world("jrr");
  await assert.rejects(dear.person({ limit: 0.5 }).survey(), { kind: "cost" });
});

test("a report is made once: the same bytes are sent until they are received", async () => {
  let up = false;
  const { person, sent } = world("mrr", ({ route }) => (route === "/reports" && !up ? problem(503, "busy") : null));
  const storage = new MemoryStorage();
  await assert.rejects(answer(person({ storage }), 1), { name: "UnreachableError" });
  await assert.rejects(answer(person({ storage }), 0), { name: "UnreachableError" }); // another mind
  up = true;
  const receipt = await person({ storage, words: () => { throw new Error("again"); } }).resume();
  assert.ok(sent().length >= 3);
  assert.equal(new Set(sent()).size, 1);
  const times = sent().length;
  assert.deepEqual(await answer(person({ storage }), 0), { body: null, before: true });
  assert.equal(sent().length, times); // it is there: nothing is sent again
});

test("two tabs at once make one report", async () => {
  const { person, sent } = world("mrr");
  const storage = new MemoryStorage();
  let word = 0n;
  const words = () => [(word += 1n << 63n)];
  await Promise.all([answer(person({ storage, words }), 0), answer(person({ storage, words }), 1)]);
  assert.equal(new Set(sent()).size, 1);
});

test("two people on one device do not meet", async () => {
  const { person, sent } = world("mrr");
  const storage = new MemoryStorage();
  await answer(person({ storage }));
  await answer(person({ storage, invitation: "b".repeat(32) }));
  assert.equal(new Set(sent().map((body) => JSON.parse(body).pseudonym)).size, 2);
});

test("what the collector refuses is told by its kind", async () => {
  for (const [status, kind] of [[409, "conflict"], [410, "closed"], [404, "unknown-pseudonym"], [409, "serial-used"]]) {
    const { person } = world("mrr", ({ route }) => (route === "/reports" ? problem(status, kind) : null));
    await assert.rejects(answer(person()), { name: "ProtocolError", kind });
  }
});

test("before the question: the state, the invitation", async () => {
  for (const [state, kind] of [["closed", "closed"], ["new", "too-early"]]) {
    const { person } = world("mrr", ({ route }) => (route === "/status" ? [200, { state, n: null }] : null));
    await assert.rejects(person().checkReady(), { kind });
  }
  const { person } = world("mrr");
  await assert.rejects(person({ invitation: undefined }).checkReady(), { kind: "invitation" });
});

test("open answers are exactly those that are asked", async () => {
  const { person, sent } = world("mrr");
  const wrong = [{}, { ...OPEN, region: "east" }, { ...OPEN, more: "a" }];
  for (const open of wrong) await assert.rejects(person().answer({ ...open, answer: "answer 1 ü\\" }), { kind: "answers" });
  assert.deepEqual(sent(), []);
});

/** A storage that can be looked into. */
function openStorage() {
  const kept = new Map();
  const add = async (key, value) => kept.get(key) ?? (kept.set(key, value), value);
  const storage = {
    get: async (key) => kept.get(key),
    list: async (prefix) => [...kept].filter(([key]) => key.startsWith(prefix)).map(([, v]) => v),
    add,
    addChecked: async (prefix, key, value) => add(key, value),
    put: async (key, value) => void kept.set(key, value),
    remove: async (key) => void kept.delete(key),
  };
  return { kept, storage };
}

test("storage holds the report and secrets until it is received, and nothing of the answer", async () => {
  const made = [];
  for (const value of [0, 1]) {
    const { kept, storage } = openStorage();
    const { person, calls } = world("mrr", ({ route }) => (route === "/reports" ? [503, {}] : null));
    // Words that make the same coin of either answer: whatever differs would be the answer itself.
    const words = () => [value === 1 ? TRUTH : 0n];
    await assert.rejects(answer(person({ storage, words, patience: 0 }), value), { name: "UnreachableError" });
    assert.deepEqual([...kept.keys()].map((key) => key.split(":")[0]).sort(), ["report", "secret", "spent"]);
    made.push(JSON.stringify([[...kept], calls]).replaceAll(/[0-9a-f]{64}/gu, "name"));
  }
  assert.deepEqual(made[0], made[1]);
});

test("after the collector has it, a device keeps what it cost and that it was sent", async () => {
  for (const [name, kinds] of [["mrr", ["report", "spent"]], ["rr", ["report", "spent"]]]) {
    const { kept, storage } = openStorage();
    const { person, sent } = world(name);
    await answer(person({ storage }), 1);
    assert.deepEqual([...kept.keys()].map((key) => key.split(":")[0]).sort(), kinds);
    assert.equal(kept.get([...kept.keys()].find((key) => key.startsWith("report:"))), '{"sent":true}');
    const { pseudonym } = JSON.parse(sent()[0]);
    assert.ok(!JSON.stringify([...kept]).includes(pseudonym.slice(0, 16)), "the name at the collector");
    assert.deepEqual(await answer(person({ storage }), 0), { body: null, before: true });
    assert.equal(sent().length, 1);
  }
});

test("encodings: their reports and cards as they are sent", async () => {
  for (const [name, card, pattern] of [
    ["ss", null, /^[0-9a-f]{2}$/u], ["oue", null, /^[0-9a-f]{4}$/u], ["oue, joint", "ff03", /^[0-9a-f]{4}$/u],
    ["sue, dealt", "55", /^[0-9a-f]{2}$/u], ["olh", null, /^\d+,[0-3]$/u], ["olh, joint", -1, /^\d+,[0-3]$/u],
  ]) {
    const change = ({ route }) => (route === "/cards" ? [200, { cards: { answer: { card } } }] : null);
    const { person, sent } = world(name, change);
    let word = 0n;
    await answer(person({ words: (n) => Array.from({ length: n }, () => (word += 0x9e3779b97f4a7c15n)) }), 3);
    const { carded, report } = reportIn(sent()[0]);
    assert.equal(carded, card !== null);
    assert.match(String(report), pattern);
  }
});

const numbered = { document: number, hash: await hashOf(new TextEncoder().encode(number)) };

test("a number is rounded to one of its ends, then perturbed", async () => {
  for (const [given, words, report] of [
    [10, [TRUTH, TRUTH], 1], [-2.5, [0n, TRUTH], 0], [3.75, [0n, TRUTH], 1], [3.75, [TRUTH, TRUTH], 0], [3.75, [TRUTH, 0n], 1],
  ]) {
    const { person, sent } = world("number", () => null, numbered);
    const coming = [...words];
    await answer(person({ words: (n) => coming.splice(0, n) }), given);
    assert.equal(reportIn(sent()[0]).report, report);
    assert.equal(coming.length, 0);
  }
  const { person, calls } = world("number", () => null, numbered);
  await assert.rejects(answer(person(), 10.5), { kind: "answer", message: "answer must be a number from -2.5 to 10" });
  assert.ok(!calls.some((c) => c.route === "/reports"));
});

/** A survey that enrols first; cards are dealt once `dealt.n` is set. */
async function enrolling(name, dealt, change = () => null) {
  const { document } = enrolled[name];
  const hash = await hashOf(new TextEncoder().encode(document));
  const reply = (call) => {
    const given = change(call);
    if (given !== null) return given;
    if (call.route === "/seats") return [201, { enrolled: true }];
    if (call.route === "/status") return [200, { state: dealt.n ? "open" : "new", n: dealt.n ?? null }];
    if (call.route !== "/cards") return null;
    if (!dealt.n) return problem(425, "too-early");
    return [200, { n: dealt.atDealer ?? dealt.n, cards: { answer: { card: 1, serial: SERIAL } } }];
  };
  return world(name, reply, { document, hash });
}

test("who enrols comes back for the card, which is one of as many as enrolled", async () => {
  const dealt = {};
  const { person, calls, sent } = await enrolling("jrr", dealt);
  const storage = new MemoryStorage();
  const one = person({ storage });
  await assert.rejects(one.checkReady(), { kind: "not-dealt" });
  assert.equal(await one.enrolled(), false);
  await one.enrol();
  assert.equal(await person({ storage }).enrolled(), true);
  const seat = JSON.parse(calls.find((c) => c.route === "/seats").body);
  assert.deepEqual(Object.keys(seat), ["device", "pseudonym"]);
  await assert.rejects(answer(person({ storage })), { kind: "not-dealt" });
  dealt.n = enrolled.jrr.n;
  await person({ storage }).checkReady();
  await answer(person({ storage }));
  assert.equal(reportIn(sent()[0]).carded, true);
  assert.deepEqual(JSON.parse(calls.findLast((c) => c.route === "/cards").body), seat);
});

test("servers that name different numbers of people, or too few, are refused", async () => {
  for (const [dealt, kind] of [[{ n: 33, atDealer: 35 }, "different"], [{ n: 7 }, "too-few"], [{ n: 33, atDealer: "33" }, "damaged"]]) {
    const { person, sent } = await enrolling("jrr", dealt);
    await assert.rejects(answer(person()), { kind });
    assert.deepEqual(sent(), []);
  }
  const { person, calls } = await enrolling("jrr", {}, ({ host, route }) =>
    host === "dealer.example" && route === "" ? [200, surveys.rr.document] : null,
  );
  await assert.rejects(person().enrol(), { kind: "different" });
  assert.ok(!calls.some((c) => c.route === "/seats"));
  await assert.rejects(world("jrr").person().enrol(), { kind: "enrol" });
});

test("the ledger adds up what answers cost, before they are sent, once each", async () => {
  const storage = new MemoryStorage();
  const first = world("mrr", ({ route }) => (route === "/reports" ? problem(503, "busy") : null));
  const epsilon = (await first.person().survey()).sensitive[0].losses.everything;
  await assert.rejects(answer(first.person({ storage })), { name: "UnreachableError" });
  await assert.rejects(answer(first.person({ storage })), { name: "UnreachableError" });
  const ledger = new Ledger(storage);
  const [entry, ...others] = await ledger.entries();
  assert.deepEqual(others, []);
  assert.deepEqual([entry.epsilon, entry.view], [epsilon, "everything"]);
  const second = world("rr");
  const plain = (await second.person().survey()).sensitive[0].losses.report;
  await answer(second.person({ storage, totalLimit: epsilon + plain + 0.001 }));
  const { answers, epsilon: spent } = await ledger.spent();
  assert.equal(answers, 2);
  assert.ok(spent >= epsilon + plain && spent < epsilon + plain + 1e-9);
  const third = world("rr of seven");
  const tight = third.person({ storage, totalLimit: spent + 0.1 });
  await assert.rejects(tight.checkReady(), { kind: "cost" });
  await assert.rejects(answer(tight), { kind: "cost" });
  assert.deepEqual(third.sent(), []);
  assert.equal((await ledger.spent()).answers, 2);
  assert.deepEqual(await third.person({ storage }).spent(), { answers: 2, epsilon: spent });
});

test("what a dealer serves differently is told before the question; a silent one is not", async () => {
  const other = ({ host, route }) => (host === "dealer.example" && route === "" ? [200, `${surveys.jrr.document} `] : null);
  await assert.rejects(world("jrr", other).person().checkReady(), { kind: "different" });
  await world("jrr", ({ host }) => (host === "dealer.example" ? "silence" : null)).person().checkReady();
});

test("Retry-After is obeyed as long as patience lasts", async (context) => {
  assert.deepEqual([secondsOf("3"), secondsOf(null), secondsOf("soon"), secondsOf("999999")], [3, 0, 0, 0]);
  const waits = [];
  context.mock.method(globalThis, "setTimeout", (act, pause) => {
    waits.push(pause / 1000);
    queueMicrotask(act);
  });
  const busy = (later) => async () => new Response("{}", { status: 503, headers: { "Retry-After": later } });
  for (const [later, wanted] of [["2", [2, 2, 1]], ["60", [5]], ["0", [0.2, 0.4, 0.8, 1.6, 2]]]) {
    waits.length = 0;
    const net = { fetch: busy(later), patience: 5 };
    await assert.rejects(insist(net, "https://a.example"), { name: "UnreachableError" });
    assert.deepEqual(waits.map((wait) => Math.round(wait * 1000) / 1000), wanted);
  }
});

test("without a network nobody waits", async (context) => {
  const { navigator } = globalThis;
  Object.defineProperty(globalThis, "navigator", { value: { onLine: false }, configurable: true });
  context.after(() => Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true }));
  let tries = 0;
  const fetch = async () => {
    tries += 1;
    throw new TypeError("no network");
  };
  await assert.rejects(insist({ fetch, patience: 30 }, "https://a.example"), { name: "UnreachableError" });
  assert.equal(tries, 1);
});
