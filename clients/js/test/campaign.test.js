import assert from "node:assert/strict";
import { test } from "node:test";

import { canonicalJson, cost, deals, forPeople, readCampaign, readCanonical, splitLink } from "../src/index.js";
import { golden } from "./golden.js";

const { campaigns, enrolled, number } = golden("contributors");
const bytes = (text) => new TextEncoder().encode(text);
const changed = (name, change) => {
  const document = JSON.parse(campaigns[name].document);
  change(document);
  return readCampaign(bytes(sorted(document)));
};
// As `canonicalJson`, with JavaScript's own way to write fractions; UTF-8 sorts as code points do.
const sorted = (value) => {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sorted(value[key])}`).join(",")}}`;
};

for (const [name, { document, hash, losses, report }] of Object.entries(campaigns)) {
  test(`a campaign that Python wrote: ${name}`, async () => {
    const campaign = await readCampaign(bytes(document));
    assert.equal(campaign.hash, hash);
    assert.equal(canonicalJson(JSON.parse(report)), report);
    const exact = !deals(campaign.mechanism) || campaign.mechanism.mechanism === "MRR";
    for (const [view, epsilon] of Object.entries(losses)) {
      const own = campaign.losses[view];
      assert.ok(own >= epsilon, `${view}: ${own} is less than ${epsilon}`);
      if (exact || view === "dealer") assert.ok(own <= epsilon * (1 + 1e-9) + 1e-9, view);
    }
    assert.ok(cost(campaign).epsilon >= losses.everything);
  });
}

test("a document of another version is refused", async () => {
  for (const version of [2, 3]) {
    await assert.rejects(changed("rr", (d) => (d.jrr_campaign = version)), { name: "UnsupportedError", kind: "version" });
  }
});

test("a smallest batch of reports may be promised", async () => {
  const batch = (value) => changed("rr", (d) => (d.min_batch = value));
  assert.equal((await batch(100)).capacity, 500);
  for (const wrong of [0, 1, 501, 1.5, "20", null]) {
    await assert.rejects(batch(wrong), { name: "DamagedError" });
  }
});

test("cards of groups of contributors are not taken", async () => {
  await assert.rejects(changed("jrr", (d) => (d.dealer = { kind: "groups" })), {
    name: "UnsupportedError",
    kind: "dealer",
  });
});

test("only canonical bytes are a campaign", async () => {
  const { document } = campaigns.mrr;
  for (const wrong of [
    ` ${document}`, `${document}\n`, `\ufeff${document}`, document.replace('":', '": '),
    document.replace('{"capacity":500,', '{"capacity":500,"capacity":500,'),
    document.replace('"min_cell":', '"min_cell":1,"min_cell":'), "[]", "null", "{}", "", "{",
    `{${document.slice(1, -1).split(",").reverse().join(",")}}`,
    document.replace("Á", "\\u00c1"),
  ]) {
    await assert.rejects(readCampaign(bytes(wrong)), { name: "DamagedError" });
  }
  assert.throws(() => readCanonical('{"b":1,"a":2}'));
  assert.deepEqual(readCanonical('{"a":1e-06,"b":"2","é":[3.0,-4]}'), { a: 1e-6, b: "2", é: [3, -4] });
});

test("a campaign that understates what holds is refused", async () => {
  for (const [name, view] of [["rr", "report"], ["mrr", "dealer"], ["mrr", "report"], ["jrr", "dealer"]]) {
    await assert.rejects(changed(name, ({ guarantees }) => (guarantees[view] *= 0.99)), {
      kind: "understated",
    });
  }
  await assert.rejects(changed("mrr", ({ guarantees }) => (guarantees.everything.epsilon *= 0.99)), {
    kind: "understated",
  });
  await changed("mrr", ({ guarantees }) => (guarantees.dealer *= 2)); // more is allowed
});

test("a question for a number says its ends", async () => {
  const campaign = await readCampaign(bytes(number));
  assert.deepEqual(campaign.number, [-2.5, 10]);
  assert.equal((await readCampaign(bytes(campaigns.rr.document))).number, null);
  for (const wrong of [[1, 1], [2, 1], [1], ["1", 2], [-1e308, 1e308], 5, {}]) {
    await assert.rejects(changed("mrr", (d) => (d.number = wrong)), { name: "DamagedError" });
  }
  await assert.rejects(changed("mrr of three", (d) => (d.number = [0, 1])), { name: "DamagedError" });
});

for (const [name, { document, losses }] of Object.entries(golden("contributors")["number in steps"])) {
  test(`a number in steps: ${name}`, async () => {
    const campaign = await readCampaign(bytes(document));
    for (const [view, epsilon] of Object.entries(losses)) {
      assert.ok(campaign.losses[view] >= epsilon && campaign.losses[view] <= epsilon * (1 + 1e-9) + 1e-9, view);
    }
    const { mechanism } = campaign;
    await assert.rejects(changed("mrr, closed deck", (d) => (d.mechanism = mechanism)), { name: "DamagedError" });
  });
}

for (const [name, { document, n, mechanism }] of Object.entries(enrolled)) {
  test(`for as many as enrolled: ${name}`, async () => {
    const campaign = await readCampaign(bytes(document));
    assert.equal(campaign.enrols, true);
    assert.deepEqual(forPeople(campaign, n), mechanism);
    assert.equal(forPeople(campaign, campaign.mechanism.n), campaign.mechanism);
    for (const [wrong, kind] of [[campaign.mechanism.n - 1, "too-few"], [10_001, "damaged"], [null, "damaged"], ["64", "damaged"]]) {
      assert.throws(() => forPeople(campaign, wrong), { kind });
    }
  });
}

test("uneven decks are not dealt to whoever enrolled", async () => {
  const campaign = await changed("jrr", (d) => {
    d.dealing = "enrol";
    d.mechanism = { mechanism: "JRR", n: 12, k: 2, p: 0.75, s: 0.2, plus: 9 };
    d.guarantees.dealer = 10;
  });
  assert.throws(() => forPeople(campaign, 20), { name: "UnsupportedError", kind: "dealing" });
});

test("fields that are not what they should be are refused", async () => {
  for (const change of [
    (d) => (d.question = ""), (d) => (d.question = "a\u202eb"), (d) => (d.question = 3),
    (d) => (d.labels = ["a", "a"]), (d) => (d.labels = ["a"]), (d) => (d.labels = ["a", "\u0007"]),
    (d) => (d.rounds = 1), (d) => (d.invitations = 1), (d) => (d.extra = 1), (d) => delete d.nonce,
    (d) => (d.covariates = { a: [] }), (d) => (d.dealer = { kind: "none" }),
    (d) => (d.by = ""), (d) => (d.contact = "a\u0007"), (d) => (d.by = null), (d) => (d.contact = "a".repeat(501)),
    (d) => (d.consent = { text: 1, version: "1" }), (d) => (d.dealing = "never"),
    (d) => (d.dealer.urls[0] = d.dealer.urls[1]), (d) => (d.dealer.urls[0] = "https://collector.example:8443"),
  ]) {
    await assert.rejects(changed("mrr", change), { name: "DamagedError" });
  }
  for (const url of ["http://dealer.example", "https://a@b.example", "https://a.example/", "ftp://a", "javascript:alert(1)"]) {
    await assert.rejects(changed("mrr", (d) => (d.dealer.urls[0] = url)), { kind: "link" });
  }
});

test("links", () => {
  const name = "0".repeat(64);
  assert.deepEqual(splitLink(` https://a.example/b/v1/campaigns/${name}/ `), {
    collector: "https://a.example/b",
    name,
  });
  assert.equal(splitLink(`http://127.0.0.1:8001/v1/campaigns/${name}`).collector, "http://127.0.0.1:8001");
  for (const wrong of ["", name, `http://a.example/v1/campaigns/${name}`, `https://a.example/v1/campaigns/${name}0`, `https://a.example?x/v1/campaigns/${name}`]) {
    assert.throws(() => splitLink(wrong), { kind: "link" });
  }
});

test("who asks, and whom to ask, where the campaign says so", async () => {
  const { by, contact } = await changed("mrr", (d) => Object.assign(d, { by: "An institute", contact: "a@b.example" }));
  assert.deepEqual([by, contact], ["An institute", "a@b.example"]);
  const silent = await changed("mrr", () => {});
  assert.deepEqual([silent.by, silent.contact], [null, null]);
});
