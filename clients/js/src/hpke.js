// Sealed messages (HPKE, RFC 9180): X25519, HKDF-SHA256 and AES-256-GCM, without a sender's key.

import { fromHex } from "./documents.js";
import { UnsupportedError } from "./errors.js";
import { derive } from "./identity.js";

const encoder = new TextEncoder();
const NOTHING = new Uint8Array();
const KEM = Uint8Array.of(...encoder.encode("KEM"), 0x00, 0x20);
const SUITE = Uint8Array.of(...encoder.encode("HPKE"), 0x00, 0x20, 0x00, 0x01, 0x00, 0x02);
const BASE_POINT = Uint8Array.of(9, ...new Uint8Array(31));
const PKCS8 = fromHex("302e020100300506032b656e04220420", 16); // before the 32 bytes of a key

export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

async function hmac(key, message) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  // No key at all is the same as zeros, and some browsers refuse it.
  const bytes = key.length ? key : new Uint8Array(32);
  const imported = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, message));
}

const extract = (suite, salt, label, secret) =>
  hmac(salt, joined(encoder.encode("HPKE-v1"), suite, encoder.encode(label), secret));

/** At most 32 bytes. */
async function expand(suite, key, label, info, length) {
  const named = [encoder.encode("HPKE-v1"), suite, encoder.encode(label), info];
  const bytes = await hmac(key, joined(Uint8Array.of(0, length), ...named, Uint8Array.of(1)));
  return bytes.subarray(0, length);
}

async function exchange(privateKey, point) {
  const other = await crypto.subtle.importKey("raw", point, "X25519", true, []);
  const bits = await crypto.subtle.deriveBits({ name: "X25519", public: other }, privateKey, 256);
  return new Uint8Array(bits);
}

/**
 * The key that a contributor's cards are sealed to; it follows from a secret of the device.
 *
 * @returns `secret` (a CryptoKey), `open` (the 32 bytes that parties are told) and `seed` (the 32
 *   bytes of the secret, which are shown only with a complaint).
 * @throws {UnsupportedError} This browser is too old for it.
 */
export async function cardKey(secret, survey) {
  const seed = fromHex(await derive(secret, fromHex(survey), "jrr card key 1"));
  try {
    const pkcs8 = joined(PKCS8, seed);
    const key = await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", false, ["deriveBits"]);
    return { secret: key, open: await exchange(key, BASE_POINT), seed };
  } catch {
    throw new UnsupportedError("browser", "this browser has no X25519");
  }
}

/** The message sealed to a key under a label; null where it is not sealed to it, or was changed. */
export async function openSealed(key, info, sealed) {
  if (sealed.length < 48) return null;
  const point = sealed.subarray(0, 32);
  let shared;
  try {
    shared = await exchange(key.secret, point);
  } catch {
    return null; // no point of the curve that could be a key
  }
  const agreed = await extract(KEM, NOTHING, "eae_prk", shared);
  const secret = await expand(KEM, agreed, "shared_secret", joined(point, key.open), 32);
  const context = joined(
    Uint8Array.of(0),
    await extract(SUITE, NOTHING, "psk_id_hash", NOTHING),
    await extract(SUITE, NOTHING, "info_hash", info),
  );
  const root = await extract(SUITE, secret, "secret", NOTHING);
  const boxKey = await expand(SUITE, root, "key", context, 32);
  const nonce = await expand(SUITE, root, "base_nonce", context, 12);
  try {
    const opening = await crypto.subtle.importKey("raw", boxKey, "AES-GCM", false, ["decrypt"]);
    const algorithm = { name: "AES-GCM", iv: nonce };
    return new Uint8Array(await crypto.subtle.decrypt(algorithm, opening, sealed.subarray(32)));
  } catch {
    return null; // sealed to another key, or changed
  }
}
