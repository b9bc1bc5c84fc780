// Invitations and pseudonyms: one secret, and a name of its own for every server.

import { fromHex, toHex } from "./documents.js";
import { ArgumentError } from "./errors.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz234567";
const PLAIN = 32; // letters of the secret; two more check them
const PRIME = 1021;

/** The two letters that check an invitation's 32. */
export function checkLetters(plain) {
  let sum = 0;
  for (let at = 0; at < plain.length; at++) sum += (at + 1) * LETTERS.indexOf(plain[at]);
  sum %= PRIME;
  return LETTERS[Math.floor(sum / 32)] + LETTERS[sum % 32];
}

/**
 * The 20 bytes behind an invitation; blanks, hyphens and capitals do not matter.
 *
 * @throws {ArgumentError} It is none, or has a slip of the pen. It is not repeated: it is a secret.
 */
export function invitationSecret(invitation) {
  const text = String(invitation).replace(/[\s-]/gu, "").toLowerCase();
  if (!/^[a-z2-7]{32}(?:[a-z2-7]{2})?$/u.test(text)) {
    throw new ArgumentError("invitation", "invitation must be of 34 letters and digits (a-z, 2-7)");
  }
  const [plain, check] = [text.slice(0, PLAIN), text.slice(PLAIN)];
  if (check && check !== checkLetters(plain)) {
    throw new ArgumentError("invitation", "invitation must be exactly as it was sent");
  }
  let bits = 0n;
  for (const letter of plain) bits = (bits << 5n) | BigInt(LETTERS.indexOf(letter));
  return fromHex(bits.toString(16).padStart(40, "0"), 20);
}

/** A fresh secret, as an invitation has it: for campaigns that anybody may answer. */
export function newSecret(bytes = 20) {
  return crypto.getRandomValues(new Uint8Array(bytes));
}

export async function derive(secret, salt, label) {
  const key = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const info = new TextEncoder().encode(label);
  const parameters = { name: "HKDF", hash: "SHA-256", salt, info };
  return toHex(new Uint8Array(await crypto.subtle.deriveBits(parameters, key, 256)));
}

/** The name, in hexadecimal digits, under which a role knows the holder of an invitation. */
export function pseudonym(secret, campaign, role) {
  return derive(secret, fromHex(campaign), `jrr pseudonym 1:${role}`);
}

/** What a dealer is shown of the device's secret: another at each, so that none can compare. */
export function deviceName(secret, campaign, role) {
  return derive(secret, fromHex(campaign), `jrr device 1:${role}`);
}

/** The role from which the pseudonym at the collector follows. */
export const COLLECTOR_ROLE = "collector:0";
