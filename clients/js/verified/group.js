// The group ristretto255 by @noble/curves, numbers modulo its order, and hashes with a domain; the
// same as src/jrr/dealing/verified/group.py. Nothing of curves is written here.

import { ristretto255, ristretto255_hasher, sha512 } from "../vendor/noble.js";

const { Point } = ristretto255;

export const ORDER = Point.Fn.ORDER;
export const SIZE = 32; // bytes of a point, and of a number modulo the order
export const ZERO = Point.ZERO;

/** Bytes of a text. */
export const utf8 = (text) => new TextEncoder().encode(text);

/** Arrays of bytes, one after the other. */
export function joined(...parts) {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A whole number as so many bytes, the least significant first. */
export function littleEndian(number, size) {
  let rest = BigInt(number);
  return Uint8Array.from({ length: size }, () => {
    const byte = Number(rest & 255n);
    rest >>= 8n;
    return byte;
  });
}

/** The whole number that bytes are, the least significant first. */
export function wholeOf(bytes) {
  let found = 0n;
  for (let at = bytes.length - 1; at >= 0; at -= 1) found = (found << 8n) | BigInt(bytes[at]);
  return found;
}

/** SHA-512 of parts, each after its length, in a domain of their own. */
export function digest(domain, ...parts) {
  const listed = [utf8(`jrr verified 1 ${domain}`), ...parts];
  return sha512(joined(...listed.flatMap((part) => [littleEndian(part.length, 8), part])));
}

/** A whole number modulo the order. */
export const modulo = (number) => ((number % ORDER) + ORDER) % ORDER;

/** 64 bytes as a number modulo the order; random bytes give a random number. */
export const asNumber = (wide) => modulo(wholeOf(wide));

/** A random number modulo the order. */
export const randomNumber = () => asNumber(crypto.getRandomValues(new Uint8Array(64)));

/** A number modulo the order in its only encoding. */
export const numberBytes = (number) => littleEndian(modulo(BigInt(number)), SIZE);

/** The number of an encoding; null where that is not canonical. */
export function readNumber(bytes) {
  const number = wholeOf(bytes);
  return bytes.length === SIZE && number < ORDER ? number : null;
}

/** The point of an encoding; null where that is none, not canonical, or the identity. */
export function readPoint(bytes) {
  try {
    const point = Point.fromBytes(bytes);
    return point.is0() ? null : point;
  } catch {
    return null;
  }
}

/** A point so many times. */
export function times(number, point) {
  const factor = modulo(BigInt(number));
  return factor === 0n || point.is0() ? ZERO : point.multiply(factor); // multiply refuses 0
}

/** The base point so many times. */
export const base = (number) => times(number, Point.BASE);

/** Of which nobody knows how often it is the base point. */
export const OTHER_BASE = ristretto255_hasher.deriveToCurve(digest("second base"));

/** A commitment to a number: it tells nothing of it, and cannot be opened to another. */
export const commit = (number, blinding) => base(number).add(times(blinding, OTHER_BASE));
