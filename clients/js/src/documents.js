// JSON that is hashed or compared byte by byte: keys sorted, no blanks, UTF-8.

import { DamagedError } from "./errors.js";

// By code points, as Python sorts; JavaScript's own order is of halves of characters.
function inOrder(a, b) {
  const [left, right] = [[...a], [...b]];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = left[at].codePointAt(0) - right[at].codePointAt(0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function write(value, number) {
  if (Array.isArray(value)) return `[${value.map((entry) => write(entry, number)).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort(inOrder);
    return `{${keys.map((key) => `${JSON.stringify(key)}:${write(value[key], number)}`).join(",")}}`;
  }
  return typeof value === "number" ? number(value) : JSON.stringify(value);
}

/**
 * The only text that stands for a document of whole numbers, texts, lists and objects. With
 * `fractions`, which languages write differently, a text is to be read and not compared.
 */
export function canonicalJson(document, { fractions = false } = {}) {
  const fits = fractions ? Number.isFinite : Number.isSafeInteger;
  return write(document, (value) => {
    if (!fits(value)) throw new DamagedError("number", "numbers must be whole");
    return String(value);
  });
}

/**
 * The document in a canonical text.
 *
 * Languages write the same number differently (1e-06), so numbers are taken over as they stand:
 * in a canonical text they come in the order in which they are written here.
 */
export function readCanonical(text) {
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    throw new DamagedError("document", "document must be JSON");
  }
  const tokens = text.replace(/"(?:[^"\\]|\\.)*"/gsu, '""').match(/-?\d[\d.eE+-]*/gu) ?? [];
  if (write(document, () => tokens.shift()) !== text) {
    throw new DamagedError("document", "document must be canonical: sorted keys, no blanks");
  }
  return document;
}

export const toHex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

/** The bytes that so many hexadecimal digits stand for; null for anything else. */
export function fromHex(text, bytes = 32) {
  if (typeof text !== "string" || !/^[0-9a-f]*$/u.test(text) || text.length !== 2 * bytes) return null;
  return Uint8Array.from(text.match(/../gu), (pair) => Number.parseInt(pair, 16));
}

export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
