// Telemetry: rounds that a device remembers, strings that nobody listed, numbers, by ranges too
// (docs/protocol.md). A report is a line of JSON, the same that Python's `report_to_json` writes.

import { hasFields, isObject, isWhole } from "./checks.js";
import { finishHash, startHash } from "./encodings.js";
import { ArgumentError, DamagedError } from "./errors.js";
import { isReal } from "./fields.js";
import {
  checkCard, checkMechanism, deals, reportFrom, secureWords, stepsOf, valuesOf, wordSource, wordsNeeded,
} from "./mechanisms.js";
import { roundedNumber } from "./numbers.js";

const SEED = 0x6a72722d776f7264n; // of fingerprints, which are no secret
const TREES = ["RR", "OUE", "OLH", "MRR"];
const secure = (count) => wordSource(secureWords, count);

function check(fits, what) {
  if (!fits) throw new DamagedError("mechanism", `${what} is not acceptable`);
}

/** One report as a JSON value; where cards are dealt it says whether there was one. */
export function lineOf(mechanism, value, card = null, next = null) {
  if (mechanism instanceof Object && "respond" in mechanism) {
    throw new ArgumentError("mechanism", `${mechanism.constructor.name} makes lines by its own respond`);
  }
  next ??= secure(wordsNeeded(mechanism));
  const held = card === null ? null : checkCard(mechanism, card);
  const report = reportFrom(mechanism, value, held, next);
  return deals(mechanism) ? { carded: card !== null, report } : report;
}

/** Rounds of reports by the same device, which may remember a permanent response to each value. */
export class Longitudinal {
  constructor(document) {
    check(hasFields(document, ["mechanism", "fresh", "permanent"]), "Longitudinal");
    check(document.mechanism === "Longitudinal", "mechanism");
    this.document = document;
    this.fresh = checkMechanism(document.fresh);
    this.permanent = document.permanent === null ? null : checkMechanism(document.permanent);
    this.k = valuesOf(this.fresh);
    if (this.permanent !== null) {
      check(this.permanent.mechanism === "RR" && this.permanent.k === this.k, "permanent");
      check(this.k <= 256, "fresh");
    }
  }

  /** What the device keeps, drawn once: a response to each value. */
  remember(next = secure(this.k)) {
    const values = Array.from({ length: this.k }, (_, value) => value);
    if (this.permanent === null) return values;
    return values.map((value) => reportFrom(this.permanent, value, null, next));
  }

  /** The report of one round. */
  respond(value, memory, card = null, next = secure(wordsNeeded(this.fresh))) {
    const fits = (one) => isWhole(one, 0) && one < this.k;
    if (!Array.isArray(memory) || memory.length !== this.k || !memory.every(fits)) {
      throw new ArgumentError("memory", `memory must be ${this.k} responses, as remember made them`);
    }
    if (!fits(value)) throw new ArgumentError("answer", `value must be in 0..${this.k - 1}`);
    return lineOf(this.fresh, memory[value], card, next);
  }
}

/** The public number of a prefix, which is hashed in its place. */
export function fingerprint(prefix) {
  let state = startHash(SEED + BigInt(prefix.length));
  for (let at = 0; at < prefix.length; at += 4) {
    const [a, b = 0, c = 0, d = 0] = prefix.slice(at, at + 4);
    state = finishHash(state, (a | (b << 8) | (c << 16) | (d << 24)) >>> 0);
  }
  return state;
}

/** A search for frequent strings: each device tells, perturbed, one prefix of its string. */
export class HeavyHitters {
  constructor(document) {
    const fields = ["mechanism", "words", "epsilon", "keep", "levels", "hashed"];
    check(hasFields(document, fields) && document.mechanism === "HeavyHitters", "HeavyHitters");
    const { words, levels, hashed } = document;
    check(hasFields(words, ["alphabet", "length", "fixed", "cut"]), "words");
    const letters = typeof words.alphabet === "string" ? [...words.alphabet] : [];
    check(letters.length >= 2 && letters.length <= 254, "alphabet");
    check(new Set(letters).size === letters.length, "alphabet");
    check(isWhole(words.length, 1) && words.length <= 255, "length");
    check([words.fixed, words.cut].every((flag) => typeof flag === "boolean"), "words");
    const rises = (level, at) => isWhole(level, at === 0 ? 1 : levels[at - 1] + 1);
    check(Array.isArray(levels) && levels.length > 0 && levels.every(rises), "levels");
    check(levels.at(-1) === words.length, "levels");
    this.document = document;
    this.words = words;
    this.levels = levels;
    this.mechanism = checkMechanism(hashed);
    check(hashed.mechanism === "OLH" && hashed.k === 2 ** 32 && !deals(hashed), "hashed");
    this.places = new Map(letters.map((letter, at) => [letter, at + 1]));
  }

  /** A string as a row of symbols; 0 behind its end. */
  symbols(string) {
    const { length, fixed, cut } = this.words;
    const letters = typeof string === "string" ? [...string] : null;
    const fits = letters !== null && (cut || letters.length <= length) && (!fixed || letters.length >= length);
    const row = (fits ? letters.slice(0, length) : []).map((letter) => this.places.get(letter));
    if (!fits || row.includes(undefined)) {
      throw new ArgumentError("answer", "string must be of the alphabet, and no longer than the search's");
    }
    return [...row, ...new Array(length - row.length).fill(0)];
  }

  /** [level, [seed, bucket]] */
  respond(string, next = secure(3)) {
    const row = this.symbols(string);
    const level = Number(BigInt.asUintN(64, next()) % BigInt(this.levels.length));
    const value = fingerprint(row.slice(0, this.levels[level]));
    return [level, lineOf(this.mechanism, value, null, next)];
  }
}

/** A number by ranges that are cut into equal parts at each level: each device tells one level. */
export class RangeTree {
  constructor(document) {
    const fields = ["mechanism", "low", "high", "branching", "clip", "mechanisms"];
    check(hasFields(document, fields) && document.mechanism === "RangeTree", "RangeTree");
    const { low, high, branching, clip, mechanisms } = document;
    check([low, high].every((end) => isReal(end, -Infinity, Infinity)) && low < high, "low and high");
    check(Number.isFinite(high - low), "high");
    check(typeof clip === "boolean", "clip");
    check(isWhole(branching, 3) && branching <= 2 ** 16, "branching");
    check(Array.isArray(mechanisms) && mechanisms.length > 0, "mechanisms");
    for (const [at, mechanism] of mechanisms.entries()) {
      checkMechanism(mechanism);
      const fits = TREES.includes(mechanism.mechanism) && mechanism.k === branching ** (at + 1);
      check(fits && (mechanism.coupling ?? "none") === "none", "mechanisms");
    }
    this.bins = branching ** mechanisms.length;
    check(this.bins <= 2 ** 16, "mechanisms");
    Object.assign(this, { document, low, high, branching, clip, mechanisms });
  }

  /** The range of a level that a number lies in; numbers at an edge lie above it. */
  value(number, level) {
    if (!isReal(number, -Infinity, Infinity) || (!this.clip && (number < this.low || number > this.high))) {
      throw new ArgumentError("answer", `number must be in ${this.low}..${this.high}`); // not repeated
    }
    const step = (this.high - this.low) / this.bins;
    let [first, last] = [0, this.bins - 1]; // how many inner edges lie at or below it
    while (first < last) {
      const middle = Math.ceil((first + last) / 2);
      if (middle * step + this.low <= number) first = middle;
      else last = middle - 1;
    }
    return Math.floor(first / this.branching ** (this.mechanisms.length - 1 - level));
  }

  /**
   * [level, report]. Where cards are dealt to the group of each level, `dealt` says which one and
   * which card: { level, card }.
   */
  respond(number, dealt = null, next = secure(1)) {
    if (dealt !== null && !(isObject(dealt) && isWhole(dealt.level, 0) && dealt.level < this.mechanisms.length)) {
      throw new ArgumentError("card", "dealt must have the level that the card is of");
    }
    const level = dealt?.level ?? Number(BigInt.asUintN(64, next()) % BigInt(this.mechanisms.length));
    const mechanism = this.mechanisms[level];
    return [level, lineOf(mechanism, this.value(number, level), dealt?.card ?? null, next)];
  }
}

/** The mean of a number between two ends: it is rounded by chance to a step from one to the other. */
export class Numbers {
  constructor(document) {
    check(hasFields(document, ["low", "high", "clip", "mechanism"]), "Numbers");
    const { low, high, clip, mechanism } = document;
    check([low, high].every((end) => isReal(end, -Infinity, Infinity)) && low < high, "low and high");
    check(Number.isFinite(high - low) && typeof clip === "boolean", "clip");
    check(valuesOf(checkMechanism(mechanism)) === 2, "mechanism");
    Object.assign(this, { document, low, high, clip, mechanism });
  }

  respond(number, card = null, next = secure(1 + wordsNeeded(this.mechanism))) {
    const fits = this.clip && isReal(number, -Infinity, Infinity);
    const held = fits ? Math.min(this.high, Math.max(this.low, number)) : number;
    const step = roundedNumber([this.low, this.high], held, next(), stepsOf(this.mechanism));
    return lineOf(this.mechanism, step, card, next);
  }
}

const KINDS = { Longitudinal, HeavyHitters, RangeTree };

/** What the header of a file, or a document, asks for: one of the four, or a plain mechanism. */
export function readAsked(document) {
  const isHeader = document?.holds === "reports";
  const number = isHeader ? (document.number ?? null) : null;
  if (number !== null) return new Numbers(isObject(number) ? { ...number, mechanism: document.mechanism } : null);
  const asked = isHeader ? document.mechanism : document;
  const name = asked?.mechanism;
  if (isObject(name)) return new Numbers(asked);
  return Object.hasOwn(KINDS, String(name)) ? new KINDS[name](asked) : checkMechanism(asked);
}

/** The first line of a file of reports. */
export function headerLine(asked) {
  const header = { jrr: 1, holds: "reports", mechanism: asked.document ?? asked };
  if (!(asked instanceof Numbers)) return JSON.stringify(header);
  const { mechanism, ...number } = asked.document;
  return JSON.stringify({ ...header, mechanism, number });
}
