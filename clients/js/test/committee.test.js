import assert from "node:assert/strict";
import { test } from "node:test";

import { Contributor, MemoryStorage, checkMechanism, forPeople, hashOf, readSurvey } from "../src/index.js";
import { belongs, openCard } from "../src/committee.js";
import { fromHex, toHex } from "../src/documents.js";
import { cardKey } from "../src/hpke.js";
import { golden } from "./golden.js";

const { spoiled, ...dealt } = golden("committee_cards");
const { invitation } = golden("contributors");
const bytes = (text) => new TextEncoder().encode(text);
const repliesTo = ({ record, n }, { envelopes }) =>
  envelopes.map((envelope) => structuredClone({ n, record, envelope }));

test("whatever a party changes is noticed", async () => {
  const entry = dealt.jrr;
  const survey = await readSurvey(bytes(entry.document));
  const mechanism = forPeople(survey, survey.sensitive[0], entry.n);
  const [mine, other] = entry.slots;
  const key = await cardKey(fromHex(mine.device), survey.hash);
  for (const change of [
    (r) => (r[1].record.alpha += 1), (r) => r.forEach((one) => (one.record.alpha += 1)),
    (r) => (r[0].envelope = other.envelopes[0]), (r) => (r[2].envelope.slot = 1),
    (r) => (r[1].envelope.sealed = other.envelopes[1].sealed), (r) => r[0].envelope.path.pop(),
    (r) => r[0].envelope.path.push("00".repeat(32)), (r) => delete r[0].envelope, (r) => (r[0] = {}),
    (r) => r.forEach((one) => (one.record.n = 9)), (r) => (r[0].envelope.sealed = "!"),
    (r) => r.forEach((one) => one.record.roots.pop()), (r) => r.pop(),
    (r) => r.forEach((one) => (one.record.survey = "00".repeat(32))),
    (r) => [r[0], r[1]] = [r[1], r[0]],
  ]) {
    const replies = repliesTo(entry, mine);
    change(replies);
    await assert.rejects(openCard(survey, mechanism, key, replies), { kind: "integrity" });
  }
  const stranger = await cardKey(fromHex(other.device), survey.hash);
  await assert.rejects(openCard(survey, mechanism, stranger, repliesTo(entry, mine)), { kind: "integrity" });
});

test("trees of any size", async () => {
  const sha = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", Buffer.concat(parts)));
  const leaf = (at) => sha(Buffer.of(0), Buffer.of(at));
  const node = (a, b) => sha(Buffer.of(1), a, b);
  const [a, b, c] = await Promise.all([leaf(0), leaf(1), leaf(2)]);
  const root = toHex(await node(await node(a, b), c));
  assert.ok(await belongs(Buffer.of(2), 2, 3, [await node(a, b)], root));
  assert.ok(await belongs(Buffer.of(1), 1, 3, [a, c], root));
  assert.ok(await belongs(Buffer.of(0), 0, 1, [], toHex(a)));
  assert.ok(!(await belongs(Buffer.of(0), 1, 3, [a, c], root)));
  assert.ok(!(await belongs(Buffer.of(2), 3, 3, [await node(a, b)], root)));
});

/** Three parties and a collector in one function; whoever enrols sits on the first slot. */
async function world(change = () => null, entry = dealt.jrr) {
  const hash = await hashOf(bytes(entry.document));
  const calls = [];
  const fetch = async (address, { body }) => {
    const { host, pathname } = new URL(address);
    const route = pathname.split(hash)[1];
    calls.push({ host, route, body });
    const party = Number(/^party(\d)/u.exec(host)?.[1] ?? -1);
    const replies = repliesTo(entry, entry.slots[0]);
    const usual = {
      "": entry.document, "/status": JSON.stringify({ state: "open", n: entry.n }),
      "/seats": "{}", "/reports": "{}", "/complaints": "{}", "/cards": JSON.stringify(replies[party] ?? {}),
    }[route];
    return change({ party, route, usual }) ?? new Response(usual, { status: route === "/reports" ? 201 : 200 });
  };
  // The device's secret is that of the golden vectors.
  class Device extends MemoryStorage {
    add(key, value) {
      return super.add(key, key.startsWith("secret:device:") ? entry.slots[0].device : value);
    }
  }
  const link = `https://collector.example/v1/surveys/${hash}`;
  const person = new Contributor(link, {
    limit: 10, invitation, patience: 0.01, fetch, storage: new Device(), words: (n) => Array(n).fill((1n << 64n) - 1n),
  });
  return { calls, person, to: (route) => calls.filter((call) => call.route === route) };
}

test("who enrols shows each party another name and one key, and answers with the card", async () => {
  const { person, to } = await world();
  await person.enrol();
  const seats = to("/seats").map(({ body }) => JSON.parse(body));
  assert.equal(new Set(seats.map((seat) => seat.pseudonym)).size, 3);
  assert.deepEqual(new Set(seats.map((seat) => seat.key)), new Set([dealt.jrr.slots[0].key]));
  await person.answer({ answer: "answer 1" });
  const [{ body }] = to("/reports");
  assert.deepEqual([JSON.parse(body).reports.answer.carded, JSON.parse(body).reports.answer.report], [true, 1]);
  assert.deepEqual(to("/cards").map(({ body: asked }) => Object.keys(JSON.parse(asked))), [["pseudonym"], ["pseudonym"], ["pseudonym"]]);
  assert.equal(to("/complaints").length, 0);
});

test("a wrong card is complained of, and nothing is sent", async () => {
  const { person, to } = await world(({ party, route, usual }) =>
    party === 1 && route === "/cards" ? new Response(usual.replace('"alpha":', '"alpha":1')) : null,
  );
  await assert.rejects(person.answer({ answer: "answer 1" }), { kind: "integrity" });
  assert.equal(to("/complaints").length, 3);
  const said = to("/complaints").map(({ body }) => JSON.parse(body));
  assert.ok(said.every(({ accused, evidence }) => accused === 1 && evidence === null));
  assert.equal(to("/reports").length, 0);
});

test("a share that was not what was checked convicts its party by the same evidence as in Python", async () => {
  const { person, to } = await world(undefined, spoiled);
  await assert.rejects(person.answer({ answer: "answer 1" }), { kind: "integrity", accused: 1, message: /party 1 sealed another share/u });
  const complaints = to("/complaints").map(({ body }) => JSON.parse(body));
  assert.equal(new Set(complaints.map((one) => one.pseudonym)).size, 3);
  for (const { accused, evidence } of complaints) {
    assert.equal(accused, 1);
    assert.deepEqual(evidence, spoiled.evidence);
  }
  assert.equal(to("/reports").length, 0);
  for (const slot of spoiled.slots.slice(1)) {
    const survey = await readSurvey(bytes(spoiled.document));
    const key = await cardKey(fromHex(slot.device), survey.hash);
    const mechanism = forPeople(survey, survey.sensitive[0], spoiled.n);
    assert.equal(await openCard(survey, mechanism, key, repliesTo(spoiled, slot)), slot.card);
  }
});

test("a party that is gone costs the card only", async () => {
  const { person, to } = await world(({ party, route }) =>
    party === 2 && route === "/cards" ? new Response("{}", { status: 503 }) : null,
  );
  await person.answer({ answer: "answer 1" });
  assert.equal(JSON.parse(to("/reports")[0].body).reports.answer.carded, false);
});
