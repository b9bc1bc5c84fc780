import assert from "node:assert/strict";
import { test } from "node:test";

import { checkLetters, invitationSecret, pseudonym } from "../src/index.js";
import { deviceName } from "../src/identity.js";
import { fromHex, toHex } from "../src/documents.js";
import { golden } from "./golden.js";

const { invitation, secret, surveys } = golden("contributors");

test("invitations, however they are typed", () => {
  for (const typed of [invitation, invitation.toUpperCase(), invitation.slice(0, 32)]) {
    assert.equal(toHex(invitationSecret(typed)), secret);
  }
  const spaced = invitation.replace(/(.{4})/gu, "$1 - ");
  assert.equal(toHex(invitationSecret(` ${spaced}\n`)), secret);
  assert.equal(checkLetters(`${"a".repeat(31)}b`), "ba");
});

test("every wrong letter and every two that changed places are noticed, and never repeated", () => {
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  const wrong = ["", "abc", `${invitation}a`, invitation.replace("a", "1")];
  for (let at = 0; at < 34; at++) {
    for (const letter of letters) {
      if (letter !== invitation[at]) {
        wrong.push(invitation.slice(0, at) + letter + invitation.slice(at + 1));
      }
    }
    for (let other = at + 1; other < 32; other++) {
      const swapped = [...invitation];
      [swapped[at], swapped[other]] = [swapped[other], swapped[at]];
      if (at < 32) wrong.push(swapped.join(""));
    }
  }
  for (const text of wrong) {
    assert.throws(() => invitationSecret(text), (error) => {
      assert.equal(error.kind, "invitation");
      assert.ok(text.length < 5 || !error.message.includes(text));
      return true;
    });
  }
});

test("pseudonyms as Python derives them", async () => {
  for (const { hash, pseudonyms } of Object.values(surveys)) {
    for (const [role, name] of Object.entries(pseudonyms)) {
      assert.equal(await pseudonym(invitationSecret(invitation), hash, role), name);
    }
  }
});

test("what each dealer is shown of the device, as Python derives it", async () => {
  for (const { hash, devices } of Object.values(surveys)) {
    for (const [role, name] of Object.entries(devices)) {
      assert.equal(await deviceName(fromHex(golden("contributors").device), hash, role), name);
    }
    assert.equal(new Set(Object.values(devices)).size, Object.keys(devices).length);
  }
});
