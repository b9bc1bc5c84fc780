import assert from "node:assert/strict";
import { test } from "node:test";

import { canonicalJson, deals, forPeople, readCanonical, readSurvey, splitLink, surveyCost } from "../src/index.js";
import { golden } from "./golden.js";

const { surveys, enrolled, number, "number in steps": steps } = golden("contributors");
const bytes = (text) => new TextEncoder().encode(text);
const changed = (name, change) => {
  const document = JSON.parse(surveys[name].document);
  change(document, document.questions.at(-1));
  return readSurvey(bytes(sorted(document)));
};
// As `canonicalJson`, with JavaScript's own way to write fractions; UTF-8 sorts as code points do.
const sorted = (value) => {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sorted(value[key])}`).join(",")}}`;
};

for (const [name, { document, hash, losses, upload }] of Object.entries(surveys)) {
  test(`a survey that Python wrote: ${name}`, async () => {
    const survey = await readSurvey(bytes(document));
    assert.equal(survey.hash, hash);
    assert.equal(canonicalJson(JSON.parse(upload)), upload);
    const [{ mechanism, losses: own }] = survey.sensitive;
    const exact = !deals(mechanism) || mechanism.mechanism === "MRR";
    for (const [view, epsilon] of Object.entries(losses)) {
      assert.ok(own[view] >= epsilon, `${view}: ${own[view]} is less than ${epsilon}`);
      if (exact || view === "dealer") assert.ok(own[view] <= epsilon * (1 + 1e-9) + 1e-9, view);
    }
    assert.ok(surveyCost(survey).epsilon >= losses.everything);
  });
}

test("only canonical bytes are a survey", async () => {
  const { document } = surveys.mrr;
  for (const wrong of [
    ` ${document}`, `${document}\n`, `\ufeff${document}`, document.replace('":', '": '),
    document.replace('{"capacity":500,', '{"capacity":500,"capacity":500,'), "[]", "null", "{}", "", "{",
    `{${document.slice(1, -1).split(",").reverse().join(",")}}`,
    document.replace("Á", "\\u00c1"),
  ]) {
    await assert.rejects(readSurvey(bytes(wrong)), { name: "DamagedError" });
  }
  assert.throws(() => readCanonical('{"b":1,"a":2}'));
  assert.deepEqual(readCanonical('{"a":1e-06,"b":"2","é":[3.0,-4]}'), { a: 1e-6, b: "2", é: [3, -4] });
});

test("a survey that understates what holds is refused", async () => {
  for (const [name, view] of [
    ["rr", "report"], ["mrr", "dealer"], ["mrr", "report"], ["jrr", "dealer"], ["mrr", "everything"], ["jrr", "everything"],
  ]) {
    await assert.rejects(changed(name, ({ guarantees }) => (guarantees[view] *= 0.99)), { kind: "understated" });
  }
  await changed("mrr", ({ guarantees }) => (guarantees.report *= 2)); // more is allowed
});

test("a question for a number says its ends", async () => {
  const survey = await readSurvey(bytes(number));
  const { low, high } = survey.questions.at(-1);
  assert.deepEqual([low, high], [-2.5, 10]);
  for (const [a, b] of [[1, 1], [2, 1], ["1", 2], [undefined, 1]]) {
    const wrong = JSON.parse(number);
    Object.assign(wrong.questions.at(-1), { low: a, high: b });
    await assert.rejects(readSurvey(bytes(sorted(wrong).replaceAll('"low":undefined,', ""))), { name: "DamagedError" });
  }
});

for (const [name, { document, losses }] of Object.entries(steps)) {
  test(`a number in steps: ${name}`, async () => {
    const [{ mechanism, losses: own }] = (await readSurvey(bytes(document))).sensitive;
    for (const [view, epsilon] of Object.entries(losses)) {
      assert.ok(own[view] >= epsilon && own[view] <= epsilon * (1 + 1e-9) + 1e-9, view);
    }
    await assert.rejects(changed("mrr, closed deck", (_, question) => (question.mechanism = mechanism)), { name: "DamagedError" });
  });
}

for (const [name, { document, n, mechanism }] of Object.entries(enrolled)) {
  test(`for as many as enrolled: ${name}`, async () => {
    const survey = await readSurvey(bytes(document));
    const [answer] = survey.sensitive;
    assert.equal(survey.dealing.enrols, true);
    assert.deepEqual(forPeople(survey, answer, n), mechanism);
    assert.equal(forPeople(survey, answer, answer.mechanism.n), answer.mechanism);
    for (const [wrong, kind] of [[answer.mechanism.n - 1, "too-few"], [10_001, "damaged"], [null, "damaged"], ["64", "damaged"]]) {
      assert.throws(() => forPeople(survey, answer, wrong), { kind });
    }
  });
}

test("uneven decks are not dealt to whoever enrolled", async () => {
  const survey = await changed("jrr", (document, question) => {
    document.dealing.enrol_first = true;
    question.mechanism = { mechanism: "JRR", n: 12, k: 2, p: 0.75, s: 0.2, plus: 9 };
    document.guarantees.dealer = document.study.promised.dealer = 10;
  });
  assert.throws(() => forPeople(survey, survey.sensitive[0], 20), { name: "UnsupportedError", kind: "dealing" });
});

test("fields that are not what they should be are refused", async () => {
  for (const change of [
    (_, question) => (question.text.en = ""), (_, question) => (question.text.en = "a\u202eb"), (_, question) => (question.text = 3),
    (_, question) => (question.labels[1] = question.labels[0]), (_, question) => question.labels.pop(),
    (_, question) => (question.labels[1].en = "\u0007"), (_, question) => (question.name = "__proto__"),
    (d) => (d.invitations = 1), (d) => (d.extra = 1), (d) => delete d.nonce, (d) => (d.dealing = { kind: "none" }),
    (d) => (d.by = ""), (d) => (d.contact = { en: "a\u0007" }), (d) => (d.contact = { en: "a".repeat(501) }),
    (d) => (d.consent = { texts: { en: 1 }, version: "1" }), (d) => (d.dealing.kind = "never"), (d) => (d.capacity = "5"),
    (d) => (d.dealing.urls[0] = d.dealing.urls[1]), (d) => (d.dealing.urls[0] = "https://collector.example:8443"),
  ]) {
    await assert.rejects(changed("mrr", change), { name: "DamagedError" }, String(change));
  }
  for (const url of ["http://dealer.example", "https://a@b.example", "https://a.example/", "ftp://a", "javascript:alert(1)"]) {
    await assert.rejects(changed("mrr", (d) => (d.dealing.urls[0] = url)), { kind: "link" });
  }
});

test("links", () => {
  const name = "0".repeat(64);
  assert.deepEqual(splitLink(` https://a.example/b/v1/surveys/${name}/ `), { collector: "https://a.example/b", name });
  assert.equal(splitLink(`http://127.0.0.1:8001/v1/surveys/${name}`).collector, "http://127.0.0.1:8001");
  for (const wrong of ["", name, `http://a.example/v1/surveys/${name}`, `https://a.example/v1/surveys/${name}0`, `https://a.example?x/v1/surveys/${name}`]) {
    assert.throws(() => splitLink(wrong), { kind: "link" });
  }
});

test("who asks, and whom to ask, where the survey says so", async () => {
  const { by, contact } = await changed("mrr", (d) => Object.assign(d, { by: { en: "An institute" }, contact: { en: "a@b.example" } }));
  assert.deepEqual([by.en, contact.en], ["An institute", "a@b.example"]);
  const silent = await changed("mrr", () => {});
  assert.deepEqual([silent.by, silent.contact], [null, null]);
});
