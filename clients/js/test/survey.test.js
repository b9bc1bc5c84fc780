import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Ledger, MemoryStorage, Contributor, askedQuestions, pseudonym, readSurvey,
  belief, costTable, surveyCost, uploadOf, invitationSecret,
} from "../src/index.js";
import { asCondition } from "../src/open-answers.js";
import { told } from "../src/questions.js";
import { golden } from "./golden.js";

const { invitation, conditions, ...surveys } = golden("survey");
const NAMES = Object.keys(surveys);
const bytesOf = (text) => new TextEncoder().encode(text);
const fixed = (words) => {
  const coming = words.map(BigInt);
  return (count) => coming.splice(0, count);
};

/** Servers of a survey in one function; `change` may reply instead. */
function world(name, { upload = 0, change = () => null, document = surveys[name].document } = {}) {
  const { hash, uploads } = surveys[name];
  const { dealt, words, answers } = uploads[upload];
  const calls = [];
  const fetch = async (address, { method, body }) => {
    const { origin, pathname } = new URL(address);
    const call = { origin, route: pathname.split(hash)[1], method, body };
    calls.push(call);
    const given = change(call);
    const silent = !origin.includes("collector") && !(origin in dealt);
    if (given === "silence" || (given === null && silent)) throw new TypeError("no network");
    const [status, reply] = given ?? usual(call);
    return new Response(typeof reply === "string" ? reply : JSON.stringify(reply), { status });
  };
  function usual({ origin, route }) {
    if (route === "") return [200, document];
    if (route === "/status") return [200, { state: "open" }];
    if (route === "/cards") return [200, dealt[origin]];
    return [201, { received: true }];
  }
  const link = `https://collector.example:8443/here/v1/surveys/${hash}`;
  const person = (more = {}) =>
    new Contributor(link, {
      limit: 100, invitation, patience: 0, fetch, words: fixed(words), storage: new MemoryStorage(),
      ...more,
    });
  return { calls, person, answers, sent: () => calls.filter((c) => c.route === "/reports").map((c) => c.body) };
}

for (const name of NAMES) {
  test(`${name}: the table of costs is Python's`, async () => {
    const { document, costs } = surveys[name];
    const own = costTable(await readSurvey(bytesOf(document)));
    for (const row of ["answer", "wave", "study"]) {
      assert.ok(own[row].together.epsilon >= own[row].collector.epsilon);
      assert.ok(own[row].together.belief >= own[row].collector.belief);
      for (const adversary of ["collector", "together"]) {
        const [mine, wanted] = [own[row][adversary], costs[row][adversary]];
        // Of leaning cards this client knows a bound only.
        if (name === "joint") assert.ok(mine.epsilon >= wanted.epsilon && mine.belief >= wanted.belief);
        else {
          assert.equal(mine.view, wanted.view);
          assert.equal(mine.delta, wanted.delta);
          assert.equal(mine.belief, wanted.belief);
          assert.ok(mine.epsilon >= wanted.epsilon * (1 - 1e-12) && mine.epsilon < wanted.epsilon * (1 + 1e-9));
        }
      }
    }
  });

  test(`${name}: read, named and reckoned as in Python`, async () => {
    const { document, hash, cost, pseudonyms } = surveys[name];
    const survey = await readSurvey(bytesOf(document));
    assert.equal(survey.hash, hash);
    const own = surveyCost(survey);
    if (name === "joint") assert.ok(own.view === "dealer" && own.epsilon >= cost.epsilon);
    else {
      assert.equal(own.view, cost.view);
      assert.ok(own.epsilon >= cost.epsilon * (1 - 1e-12) && own.epsilon < cost.epsilon * (1 + 1e-9));
    }
    for (const [role, wanted] of Object.entries(pseudonyms)) {
      const salt = role.startsWith("collector") ? (survey.panel ?? hash) : hash;
      assert.equal(await pseudonym(invitationSecret(invitation), salt, role), wanted);
    }
  });

  for (const [at, { upload }] of surveys[name].uploads.entries()) {
    test(`${name}: the same words make the same upload, person ${at + 1}`, async () => {
      const { person, answers, sent } = world(name, { upload: at });
      const { body, before } = await person().answer(answers);
      assert.equal(before, false);
      assert.deepEqual(JSON.parse(body), upload);
      assert.deepEqual(sent(), [body]);
    });
  }
}

test("numbers in conditions are written as in Python", () => {
  for (const [number, text] of conditions) assert.equal(asCondition(number), text);
});

test("questions are asked by open answers alone", async () => {
  const survey = await readSurvey(bytesOf(surveys["one dealer"].document));
  const names = (open) => askedQuestions(survey, open).map(({ name }) => name);
  const always = ["sector", "age", "drinks", "mood", "pills", "wage"];
  assert.deepEqual(new Set(names({})), new Set(always));
  assert.ok(names({ sector: "workshop" }).includes("shifts"));
  assert.ok(names({ age: 61.5 }).includes("days") && !names({ age: 61 }).includes("days"));
  assert.ok(names({ shifts: ["late"] }).includes("welding"));
  assert.ok(!names({ age: null }).includes("days"));
});

test("cards are asked for when there are answers, all at once, and not if an answer is wrong", async () => {
  const { calls, person, answers } = world("two dealers");
  const one = person();
  await one.checkReady();
  await assert.rejects(one.answer({ ...answers, drinks: "perhaps" }), { kind: "answers" });
  assert.ok(calls.every(({ origin, route }) => origin.includes("collector") || route === ""));
  await one.answer(answers);
  assert.equal(calls.filter(({ route }) => route === "/cards").length, 2);
});

test("a wrong, missing or surplus answer is refused and never repeated", async () => {
  const survey = await readSurvey(bytesOf(surveys["no cards"].document));
  const { answers } = surveys["no cards"].uploads[0];
  const { drinks: _, ...fewer } = answers;
  const wrong = [
    fewer, { ...answers, welding: "yes" }, { ...answers, other: 1 }, { ...answers, age: 14 },
    { ...answers, sector: "Büro-secret" }, { ...answers, mood: 2.5 }, { ...answers, mood: 6 },
    { ...answers, pills: "red" }, { ...answers, pills: ["green-secret"] }, { ...answers, days: 21 },
    { ...answers, days: "7" }, { ...answers, drinks: null }, { ...answers, sector: null },
    { ...answers, wage: "secret" }, { ...answers, toString: 1 },
  ];
  for (const given of wrong) {
    await assert.rejects(uploadOf(survey, given, { name: "", cards: { n: null, cards: {} } }), (error) => {
      assert.ok(["answers", "answer"].includes(error.kind));
      assert.ok(!/secret|7|21|2\.5/u.test(error.message), error.message);
      return true;
    });
  }
});

test("one upload, kept before it is sent, the same bytes again, one entry in the ledger", async () => {
  const storage = new MemoryStorage();
  let silent = true;
  const change = ({ route }) => (route === "/reports" && silent ? "silence" : null);
  const { person, answers, sent } = world("one dealer", { change });
  await assert.rejects(person({ storage }).answer(answers), { name: "UnreachableError" });
  silent = false;
  const again = person({ storage, words: () => assert.fail("no fresh words") });
  const { body } = await again.answer({ ...answers, drinks: "no" });
  assert.equal(new Set(sent()).size, 1);
  assert.equal(body, sent()[0]);
  assert.equal((await again.before()).sent, true);
  const entries = await new Ledger(storage).entries();
  assert.equal(entries.length, 1);
  assert.equal(entries[0].survey, surveys["one dealer"].hash);
  assert.ok(!JSON.stringify(entries).includes("yes"));
  const survey = await again.survey();
  const asked = Object.keys(JSON.parse(body).reports);
  const parts = survey.sensitive.filter(({ name }) => asked.includes(name));
  assert.equal(entries[0].epsilon, surveyCost(survey, parts).epsilon);
});

test("limits: of one survey, and of everything on this device", async () => {
  const { person, answers, calls } = world("one dealer");
  await assert.rejects(person({ limit: 5.9 }).survey(), { kind: "cost" });
  const storage = new MemoryStorage();
  const before = { survey: "0".repeat(64), person: "a", epsilon: 3, view: "report" };
  await new Ledger(storage).enter(before);
  const spent = person({ storage, totalLimit: 8.9 });
  await assert.rejects(spent.checkReady(), { kind: "cost" });
  await person({ storage, totalLimit: 9.1 }).answer(answers);
  assert.equal(calls.filter(({ route }) => route === "/reports").length, 1);
});

test("another survey at the collector or at a dealer ends it", async () => {
  const other = surveys["one dealer"].document.replace("Health at work", "Wealth at work");
  const served = world("one dealer", { document: other });
  await assert.rejects(served.person().survey(), { kind: "different" });
  const change = ({ origin, route }) =>
    origin === "https://dealer.example" && route === "" ? [200, other] : null;
  const { person, answers, sent, calls } = world("one dealer", { change });
  await assert.rejects(person().answer(answers), { kind: "different" });
  assert.deepEqual([sent(), calls.filter(({ route }) => route === "/cards")], [[], []]);
});

test("a dealer that is silent costs the cards, not the answers", async () => {
  const change = ({ origin }) => (origin === "https://dealer.example" ? "silence" : null);
  const { person, answers } = world("one dealer", { change });
  const { body } = await person().answer(answers);
  const reports = Object.values(JSON.parse(body).reports);
  assert.ok(reports.every(({ carded, serials }) => carded === false && serials === undefined));
});

test("a dealer must give a card for every answer", async () => {
  const reply = structuredClone(surveys["one dealer"].uploads[0].dealt["https://dealer.example"]);
  delete reply.cards["pills.2"];
  const change = ({ route }) => (route === "/cards" ? [200, reply] : null);
  const { person, answers, sent } = world("one dealer", { change });
  await assert.rejects(person().answer(answers), { kind: "card" });
  assert.deepEqual(sent(), []);
});

test("a closed survey, and one that is not open yet", async () => {
  for (const [state, kind] of [["closed", "closed"], ["new", "too-early"]]) {
    const change = ({ route }) => (route === "/status" ? [200, { state }] : null);
    await assert.rejects(world("no cards", { change }).person().checkReady(), { kind });
  }
});

const changed = (change, name = "one dealer") => {
  const document = JSON.parse(surveys[name].document);
  change(document);
  return bytesOf(sorted(document));
};
function sorted(value) {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sorted(value[key])}`).join(",")}}`;
}

test("a document that promises less than what holds is refused", async () => {
  for (const view of ["report", "cards", "everything", "dealer"]) {
    const less = changed((survey) => (survey.guarantees[view] *= 0.999));
    await assert.rejects(readSurvey(less), { kind: "understated" });
  }
  const one = changed(({ questions }) => (questions[3].mechanism.p += 0.01));
  await assert.rejects(readSurvey(one), { kind: "understated" });
  await readSurvey(changed(() => {})); // the other changes are what is refused
});

// The beginning of a PNG of 40 × 20 pixels.
const LOGO = "iVBORw0KGgoAAAANSUhEUgAAACgAAAAUCAAAAADa";

test("what stands around questions is read, and a number beyond an open end is that end", async () => {
  const survey = await readSurvey(changed((document) => {
    Object.assign(document, { logo: LOGO, pilot: true });
    document.questions[0].section = Object.fromEntries(document.languages.map((code) => [code, "Health"]));
  }));
  assert.deepEqual([survey.logo, survey.pilot, survey.questions[0].section.en], [LOGO, true, "Health"]);
  const ends = { low: 0, high: 20 };
  const numbers = [-1, 0, 7.5, 20, 21];
  const of = (open) => numbers.map((number) => told({ ...ends, ...open }, number));
  assert.deepEqual(of({}), numbers);
  assert.deepEqual(of({ or_more: true }), [-1, 0, 7.5, 20, 20]);
  assert.deepEqual(of({ or_less: true, or_more: true }), [0, 0, 7.5, 20, 20]);
  assert.equal(told({ ...ends, or_more: true }, Infinity), Infinity); // is refused
});

test("documents that do not fit together are refused", async () => {
  const wrong = [
    (survey) => delete survey.questions[3].mechanism,
    (survey) => (survey.questions[0].mechanism = survey.questions[3].mechanism),
    (survey) => (survey.more = 1),
    (survey) => (survey.wave = 2),
    (survey) => (survey.waves = 0),
    (survey) => Object.assign(survey, { wave: 3, panel: "0".repeat(64) }),
    (survey) => (survey.panel = "0".repeat(64)),
    (survey) => (survey.capacity = 0),
    (survey) => (survey.min_batch = 1.5),
    (survey) => (survey.questions[8].mechanism.n += 1), // another deck than the others
    (survey) => (survey.dealing = { kind: "none" }),
    (survey) => (survey.dealing.leave_out = true), // of one dealer
    (survey) => (survey.dealing.urls = ["https://collector.example:8443"]),
    (survey) => (survey.dealing.more = 1),
    (survey) => (survey.questions[8].only_if = { drinks: ["yes"] }), // a sensitive answer
    (survey) => (survey.questions[0].only_if = { age: ["20"] }), // a later question
    (survey) => (survey.questions[4].kind = "choice"),
    (survey) => (survey.questions[4].weight = 1),
    (survey) => delete survey.consent.texts.de,
    (survey) => (survey.consent.texts.de = "Es kostet ε = 0.1."), // without the gap
    (survey) => (survey.consent.texts.de = "{cost} {cost}"),
    (survey) => (survey.questions[0].labels[0] = {}),
    (survey) => (survey.by = { en: "one language only" }),
    (survey) => (survey.title.en = "a\u202eb"),
    (survey) => (survey.invitations = 1),
    (survey) => (survey.questions[3].everything = 5), // of a loss that holds outright
    (survey) => (survey.logo = "https://logo.example/logo.png"),
    (survey) => (survey.logo = LOGO.replace("UgAAACgA", "UgAAECgA")), // wider than a device can show
    (survey) => (survey.questions[0].section = { en: "one language only" }),
    (survey) => (survey.questions[0].or_more = true), // of labels
  ];
  for (const change of wrong) {
    await assert.rejects(readSurvey(changed(change)), { name: "DamagedError" }, String(change));
  }
  await assert.rejects(readSurvey(changed((survey) => (survey.jrr_survey = 2))), { name: "UnsupportedError" });
  const groups = changed((survey) => (survey.dealing = { kind: "groups" }));
  await assert.rejects(readSurvey(groups), { name: "UnsupportedError", kind: "dealing" });
});

test("waves that do not add up are refused", async () => {
  const changed = (change) => {
    const document = JSON.parse(surveys["second wave"].document);
    change(document.study, document);
    return readSurvey(bytesOf(sorted(document)));
  };
  await changed(() => {});
  const understated = { kind: "understated" };
  const damaged = { kind: "survey" };
  await assert.rejects(changed(({ promised }) => (promised.everything *= 0.9)), understated);
  await assert.rejects(changed(({ promised }) => (promised.dealer *= 0.9)), understated);
  await assert.rejects(changed(({ earlier }) => (earlier[0].everything *= 3)), understated);
  await assert.rejects(changed((study) => (study.earlier = [])), damaged);
  await assert.rejects(changed(({ earlier }) => (earlier[0].survey = "0".repeat(64))), damaged);
  await assert.rejects(changed((_, document) => (document.wave = 1)), damaged);
  await assert.rejects(changed((study) => delete study.promised.delta), damaged);
  await assert.rejects(changed(({ promised }) => (promised.everything = -1)), damaged);
});

test("a belief is rounded up, and certain only where it nearly is", () => {
  assert.deepEqual([0, 1, 3, 12, 30, Infinity].map(belief), [0.1, 0.232, 0.691, 0.99995, 1, 1]);
});
