// What documents and messages are made of: texts, objects, whole numbers, addresses, links.

import { readCanonical, sha256, toHex } from "./documents.js";
import { ArgumentError, DamagedError, ProtocolError } from "./errors.js";

const MOST = 1 << 20; // bytes of a document
const HERE = ["localhost", "127.0.0.1", "[::1]"];
// Neither halves of characters nor marks that turn the direction of a text around.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

const TOLERANCE = 1 + 1e-9; // of losses that two languages computed

/** An https address without a slash at its end; http is allowed on this machine only. */
export function checkAddress(value) {
  const allowed = "address must be as https://survey.example (http only on this machine)";
  let url;
  try {
    url = new URL(value);
  } catch {
    throw new ArgumentError("link", allowed);
  }
  const safe = url.protocol === "https:" || (url.protocol === "http:" && HERE.includes(url.hostname));
  const plain = /^[!-~]{1,1000}$/u.test(value) && !/[?#@\\]/u.test(value) && !value.endsWith("/");
  if (!safe || !plain) throw new ArgumentError("link", allowed);
  return value;
}

/** Where every server keeps a survey. */
export const surveyPath = (name) => `/v1/surveys/${name}`;

/** Collector and survey of a link as https://survey.example/v1/surveys/0123… */
export function splitLink(link) {
  const [collector, name, ...more] = String(link).trim().split(surveyPath(""));
  const digits = name?.replace(/\/$/u, "");
  if (more.length || !/^[0-9a-f]{64}$/u.test(digits ?? "")) {
    throw new ArgumentError("link", `link must end in ${surveyPath("")} and 64 digits`);
  }
  return { collector: checkAddress(collector), name: digits };
}

/** The name of a document with these bytes. */
export const hashOf = async (bytes) => toHex(await sha256(bytes));

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export const isWhole = (value, low) => Number.isSafeInteger(value) && value >= low;

export function isText(value, most, empty = false) {
  if (typeof value !== "string" || [...value].length > most) return false;
  return (empty || value.trim() !== "") && !UNPRINTABLE.test(value.replaceAll("\n", ""));
}

/** Whether an object has exactly these fields, and perhaps some of those. */
export const hasFields = (value, names, optional = []) =>
  isObject(value) &&
  names.every((name) => Object.hasOwn(value, name)) &&
  Object.keys(value).every((name) => names.includes(name) || optional.includes(name));

/** Refuse a survey because of a field. */
export function check(fits, field) {
  if (!fits) throw new DamagedError("survey", `${field} of the survey is not acceptable`);
}

/** The canonical document in bytes that a server gave. */
export function readDocument(bytes) {
  if (bytes.length > MOST) throw new DamagedError("survey", `survey is over ${MOST} bytes`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new DamagedError("survey", "survey must be in UTF-8");
  }
  return readCanonical(text);
}

/** Refuse a document that promises less, of anything, than what that loses. */
export function checkTotal(lost, promised, what) {
  if (lost > promised * TOLERANCE + 1e-9) {
    throw new ProtocolError("understated", `the survey understates ${what}`);
  }
}
