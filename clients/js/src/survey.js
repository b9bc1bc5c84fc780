// A survey: one document that dealers, collector and every contributor hold alike. Its name is the
// SHA-256 of its bytes, and that name stands in the link that contributors are given.

import {
  check, checkAddress, checkTotal, hasFields, hashOf, isObject, isText, isWhole, readDocument,
} from "./checks.js";
import { readDealing } from "./dealing.js";
import { UnsupportedError } from "./errors.js";
import { losses } from "./loss.js";
import { checkMechanism, deals, masked, stepsOf, valuesOf } from "./mechanisms.js";
import { isAsked } from "./open-answers.js";
import { answersOf, checkQuestions, isTexts } from "./questions.js";
import { counted, readTogether } from "./together.js";

const VERSION = 1;
const VIEWS = ["report", "cards", "everything", "dealer"];
const FIELDS = [
  "jrr_survey", "title", "languages", "questions", "dealing", "collector", "capacity", "guarantees",
  "consent", "study", "nonce",
];
// Left out where they have these values.
const DEFAULTS = {
  colluders: 0, by: null, contact: null, logo: null, opens: null, closes: null, invitations: true, min_cell: 20,
  results_every: 1, min_batch: 1, pilot: false, keep_days: null, waves: 1, wave: 1, panel: null, delta: 1e-6, together: [],
  cells: [], analyses: [],
};
const MOST_WAVES = 1000;
const LOSSES = ["everything", "delta", "dealer"];
export const COST = "{cost}"; // the gap in a consent text

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** A loss, as documents have it. */
function readNumber(said, field) {
  if (said === "unbounded") return Infinity;
  check(typeof said === "number" && said >= 0, field);
  return said;
}

/** Whether this client knows what an answer loses, and not only a bound: of cards that lean, no. */
const isExact = (mechanism) => !deals(mechanism) || masked(mechanism);

/** The perturbed answers of a question: of "several" one for each label. */
function sensitiveOf(question, languages) {
  const { name, kind } = question;
  const mechanism = checkMechanism(question.mechanism);
  if (kind === "number") check(valuesOf(mechanism) === 2, `mechanism of ${name}`);
  else {
    const values = kind === "several" ? 2 + (question.prefer_not ? 1 : 0) : answersOf(question, languages).length;
    check(valuesOf(mechanism) === values && stepsOf(mechanism) === 1, `mechanism of ${name}`);
  }
  const own = losses(mechanism);
  check(isExact(mechanism) === (question.everything === undefined), `everything of ${name}`);
  const everything = isExact(mechanism)
    ? own.everything
    : readNumber(question.everything, `everything of ${name}`);
  const made = (label) =>
    Object.freeze({
      name: label === null ? name : `${name}.${label + 1}`,
      question, label, mechanism, everything, losses: own,
    });
  return kind === "several" ? question.labels.map((_, label) => made(label)) : [made(null)];
}

/** What all answers of one wave, or of several, lose. */
function readLoss(document, ...also) {
  check(hasFields(document, [...LOSSES, ...also]), "study");
  return Object.fromEntries(LOSSES.map((name) => [name, readNumber(document[name], "study")]));
}

/** What all waves promise, and what those before this one have lost. */
function readStudy(document, { panel, wave }, own) {
  check(hasFields(document, ["promised", "earlier"]), "study");
  check(Array.isArray(document.earlier) && document.earlier.length === wave - 1, "study");
  const promised = readLoss(document.promised);
  const earlier = document.earlier.map((one) => {
    const loss = readLoss(one, "survey");
    check(/^[0-9a-f]{64}$/u.test(one.survey), "study");
    return { survey: one.survey, loss };
  });
  check(panel === (earlier[0]?.survey ?? null), "panel");
  for (const name of LOSSES) {
    const lost = sum(earlier.map(({ loss }) => loss[name])) + own[name];
    checkTotal(lost, promised[name], `${name} of its waves`);
  }
  return { promised, earlier };
}

/** The view against which one answer is counted. */
function viewOf({ mechanism }) {
  if (!deals(mechanism)) return "report";
  return masked(mechanism) ? "everything" : "dealer";
}

/** The strongest view of some answers: against it all of them are counted. */
export function costView(answers) {
  const views = answers.map(viewOf);
  return ["dealer", "everything", "report"].find((view) => views.includes(view));
}

/** Refuse texts without the one gap in which whoever shows them puts what was computed here. */
function checkConsent(consent, languages) {
  check(hasFields(consent, ["texts", "version"]) && isText(consent.version, 100), "consent");
  check(hasFields(consent.texts, languages), "consent");
  for (const text of Object.values(consent.texts)) {
    check(isText(text, 100_000) && text.split(COST).length === 2, `consent: ${COST} once in each text; this`);
  }
}

/** A small PNG in base64. */
function isLogo(logo) {
  if (!isText(logo, 24_000) || !/^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/u.test(logo)) return false;
  const bytes = bytesOf(logo.slice(0, 32));
  const start = String.fromCharCode(...bytes.slice(0, 16)) === "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
  const sides = start && bytes.length === 24 ? new DataView(bytes.buffer, 16) : null;
  return sides !== null && [0, 4].every((at) => sides.getUint32(at) >= 1 && sides.getUint32(at) <= 1000);
}

/** What base64 stands for. */
export const bytesOf = (base64) => Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));

/** Refuse shared facts that are out of their ranges; the document with what it leaves out. */
function readShared(document) {
  check(isObject(document) && isWhole(document.jrr_survey, 1), "jrr_survey");
  if (document.jrr_survey !== VERSION) throw new UnsupportedError("version", "survey of another version");
  check(hasFields(document, FIELDS, Object.keys(DEFAULTS)), "fields");
  const shared = { ...DEFAULTS, ...document };
  const { languages, consent, waves, wave } = shared;
  const isCode = (code) => typeof code === "string" && /^[\p{L}-]{1,20}$/u.test(code);
  check(Array.isArray(languages) && languages.length > 0 && languages.every(isCode), "languages");
  check(new Set(languages).size === languages.length, "languages");
  check(isTexts(shared.title, languages), "title");
  for (const name of ["by", "contact"]) {
    check(shared[name] === null || isTexts(shared[name], languages, 500), name);
  }
  checkConsent(consent, languages);
  check(isWhole(waves, 1) && waves <= MOST_WAVES, "waves");
  check(isWhole(wave, 1) && wave <= waves, "wave");
  check(isText(shared.nonce, 100), "nonce");
  for (const name of ["capacity", "min_cell", "results_every", "min_batch"]) check(isWhole(shared[name], 1), name);
  check(isWhole(shared.colluders, 0), "colluders");
  check(typeof shared.delta === "number" && shared.delta >= 0 && shared.delta < 1, "delta");
  for (const name of ["invitations", "pilot"]) check(typeof shared[name] === "boolean", name);
  check(shared.keep_days === null || isWhole(shared.keep_days, 1), "keep_days");
  check(shared.logo === null || isLogo(shared.logo), "logo");
  for (const name of ["opens", "closes"]) check(shared[name] === null || isText(shared[name], 100), name);
  checkAddress(shared.collector);
  return shared;
}

/** The survey in these bytes; what it refuses: index.d.ts. */
export async function readSurvey(bytes) {
  const shared = readShared(readDocument(bytes));
  const { languages, guarantees, consent } = shared;
  const questions = checkQuestions(shared.questions, languages);
  const alone = questions
    .filter((question) => question.sensitive)
    .flatMap((question) => sensitiveOf(question, languages));
  const sensitive = readTogether(shared.together, alone);
  const entries = counted(sensitive);
  const dealing = readDealing(shared.dealing, shared.collector, sensitive);
  check(hasFields(guarantees, VIEWS), "guarantees");
  const promised = Object.fromEntries(VIEWS.map((view) => [view, readNumber(guarantees[view], "guarantees")]));
  // Of a single report among cards that lean, this client knows a bound that is above the promise.
  const exact = sensitive.every(({ mechanism }) => isExact(mechanism));
  for (const view of exact ? ["report", "dealer"] : ["dealer"]) {
    checkTotal(sum(entries.map((one) => one.losses[view])), promised[view], `its ε in the view ${view}`);
  }
  const everything = sum(entries.map((one) => one.everything));
  // Where losses hold outright, whoever knows all else learns no more than who knows some cards.
  for (const view of exact ? ["everything", "cards"] : ["everything"]) {
    checkTotal(everything, promised[view], `its ε in the view ${view}`);
  }
  const random = sensitive.filter(({ mechanism }) => !isExact(mechanism)); // the others hold outright
  const own = { everything: promised.everything, delta: sum(random.map(() => shared.delta)), dealer: promised.dealer };
  const study = readStudy(shared.study, shared, own);
  return Object.freeze({
    bytes,
    hash: await hashOf(bytes),
    title: shared.title,
    languages,
    by: shared.by,
    contact: shared.contact,
    logo: shared.logo,
    pilot: shared.pilot,
    questions,
    sensitive,
    together: shared.together,
    consent: consent.texts,
    guarantees: promised,
    study,
    panel: shared.panel,
    wave: shared.wave,
    waves: shared.waves,
    collector: shared.collector,
    capacity: shared.capacity,
    invitations: shared.invitations,
    dealing,
    opens: shared.opens,
    closes: shared.closes,
    keep_days: shared.keep_days,
  });
}

/** The questions that somebody with these open answers is asked, in order, but those left out. */
export function askedQuestions(survey, open, leftOut = new Set()) {
  return survey.questions.filter((question) => !leftOut.has(question.name) && isAsked(survey, question, open));
}

/** The perturbed answers that somebody with these open answers is asked for, but those left out. */
export function askedAnswers(survey, open, leftOut = new Set()) {
  return survey.sensitive.filter(({ question }) => !leftOut.has(question.name) && isAsked(survey, question, open));
}

/** The ε of some answers together in a view: losses add up; answers that share a coin count once. */
export function lossOf(answers, view) {
  const entries = counted(answers);
  const epsilon = sum(entries.map((one) => one.losses[view]));
  return entries.length > 1 ? epsilon * (1 + 2 ** -40) : epsilon;
}

/** The same against whom it is largest, and against whom that is. */
export function surveyCost(survey, answers = survey.sensitive) {
  if (answers.length === 0) return { epsilon: 0, view: "report" };
  const view = costView(answers);
  return { epsilon: lossOf(answers, view), view };
}
