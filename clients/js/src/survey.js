// A survey: several items asked of the same people, in one document that dealers, collector and
// every contributor hold alike. Every perturbed answer in it is a campaign (a "part").

import { TOLERANCE, campaignOf, cost, hashOf, isObject, isText, readDocument } from "./campaign.js";
import { DamagedError, ProtocolError, UnsupportedError } from "./errors.js";
import { covariatesOf, isAsked } from "./open-answers.js";
import { answersOf, checkQuestionnaire, partsOf } from "./questionnaire.js";

const VERSION = 1;
const VIEWS = ["report", "cards", "everything", "dealer"];
const FIELDS = ["jrr_survey", "questionnaire", "parts", "guarantees", "consent", "panel", "wave", "study", "nonce"];
const SHARED = [
  "collector", "dealing", "capacity", "opens", "closes", "invitations", "covariates", "min_cell",
  "results_every", "min_batch",
];
// As consent texts name a cost.
const FIGURE = /ε (?:= )?(unbounded|unbegrenzt|\d+(?:[.,]\d+)?)(?: (?:at|bei) δ = (\d[\d.,e-]*\d|\d))?/gu;
const ROUNDING = 1.01; // what is shown may be so many times what holds

export const surveyPath = (name) => `/v1/surveys/${name}`;

/** Whether a link is of a survey, and not of a single campaign. */
export const isSurveyLink = (link) => String(link).includes(surveyPath(""));

function check(fits, field) {
  if (!fits) throw new DamagedError("survey", `${field} of the survey is not acceptable`);
}

const hasExactly = (value, names) =>
  isObject(value) &&
  Object.keys(value).length === names.length &&
  names.every((name) => Object.hasOwn(value, name));

/** JSON text with sorted keys, to compare what two documents say. */
const same = (left, right) => {
  const write = (value) =>
    JSON.stringify(value, (_, inner) =>
      isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
    );
  return write(left) === write(right);
};

/** Refuse a part that asks something else than its item, or goes another way than the rest. */
function checkPart({ name, item, label }, document, first, questionnaire) {
  const { languages } = questionnaire;
  const text = item.text[languages[0]];
  const question = label === null ? text : `${text} ${item.labels[label][languages[0]]}`;
  check(document.question === question, `question of ${name}`);
  const number = item.kind === "number" ? [item.low, item.high] : undefined;
  check(same(document.number, number), `number of ${name}`);
  check(number || same(document.labels, answersOf(item, languages)), `labels of ${name}`);
  check(same(document.covariates, covariatesOf(questionnaire)), `covariates of ${name}`);
  check(document.by === undefined && document.contact === undefined, `by of ${name}`); // the survey says it
  check(document.dealing === "arrival", `dealing of ${name}`);
  for (const field of SHARED) check(same(document[field], first[field]), `${field} of ${name}`);
}

function readParts(listed, questionnaire) {
  const asked = partsOf(questionnaire);
  check(Array.isArray(listed) && listed.length === asked.length, "parts");
  return asked.map((part, at) => {
    check(hasExactly(listed[at], ["name", "campaign"]) && listed[at].name === part.name, "parts");
    const document = listed[at].campaign;
    const campaign = campaignOf(document);
    checkPart(part, document, listed[0].campaign, questionnaire);
    return Object.freeze({ ...part, campaign });
  });
}

/** Who deals: the same dealers for every part that has cards. */
function dealersOf(parts) {
  const dealt = parts.filter(({ campaign }) => campaign.dealers.length > 0);
  const [first] = dealt;
  for (const { campaign } of dealt) {
    check(!campaign.byCommittee, "dealers: a committee deals one deck at a time, and");
    check(same(campaign.dealers, first.campaign.dealers), "dealers");
    check(campaign.mayLeaveOut === first.campaign.mayLeaveOut, "dealers");
  }
  return first?.campaign.dealers ?? [];
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** A loss, as documents have it. */
function readNumber(said, field) {
  if (said === "unbounded") return Infinity;
  check(typeof said === "number" && said >= 0, field);
  return said;
}

const guaranteed = (view, { guarantees }) =>
  readNumber(view === "everything" ? guarantees.everything?.epsilon : guarantees[view], "guarantees");

/** Refuse a document that promises less, of anything together, than what that loses. */
function checkTotal(losses, promised, what) {
  if (losses > promised * TOLERANCE + 1e-9) {
    throw new ProtocolError("understated", `the survey understates ${what}`);
  }
}

const LOSSES = ["everything", "delta", "dealer"];

/** What all answers of one wave, or of several, lose. */
function readLoss(document, ...also) {
  check(hasExactly(document, [...LOSSES, ...also]), "study");
  return Object.fromEntries(
    LOSSES.map((name) => [name, readNumber(document[name], "study")]),
  );
}

/** What all waves promise, and what those before this one have lost. */
function readStudy(document, { panel, wave }, own) {
  check(hasExactly(document, ["promised", "earlier"]), "study");
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

/** The strongest view of the parts': against it all of them are counted. */
export function costView(parts) {
  const views = parts.map(({ campaign }) => cost(campaign).view);
  return ["dealer", "everything", "report"].find((view) => views.includes(view));
}

/** The figures in a text, as Python's `show_guarantee` writes them. */
function figures(text) {
  return [...text.matchAll(FIGURE)].map(([, epsilon, delta]) => ({
    epsilon: epsilon.startsWith("unb") ? Infinity : Number(epsilon.replace(",", ".")),
    delta: Number((delta ?? "0").replace(",", ".")),
  }));
}

/** Refuse a text that names an ε, and not, among others, what all answers of a wave and of all waves cost. */
function checkConsent(texts, languages, parts, ...promises) {
  check(hasExactly(texts, languages), "consent");
  // Of JRR and DRR this client knows a bound only: the text may name the promise that is less.
  const views = costView(parts) === "dealer" ? ["everything", "dealer"] : ["everything"];
  const tells = (named, loss) =>
    named.some(
      ({ epsilon, delta }) =>
        delta <= ROUNDING * loss.delta &&
        views.some((view) => loss[view] <= epsilon && epsilon <= ROUNDING * loss[view]),
    );
  for (const text of Object.values(texts)) {
    check(isText(text, 100_000, true), "consent");
    const named = figures(text);
    if (named.length > 0 && !promises.every((promise) => tells(named, promise))) {
      throw new ProtocolError("understated", "the consent text names another ε than what holds");
    }
  }
}

/** The survey in these bytes; what it refuses: index.d.ts. */
export async function readSurvey(bytes) {
  const document = readDocument(bytes, "survey");
  check(isObject(document) && Number.isSafeInteger(document.jrr_survey), "jrr_survey");
  if (document.jrr_survey > VERSION) throw new UnsupportedError("version", "survey of a later version");
  check(document.jrr_survey === VERSION && hasExactly(document, FIELDS), "fields");
  const { consent, guarantees, panel, wave, nonce } = document;
  const questionnaire = checkQuestionnaire(document.questionnaire);
  const parts = readParts(document.parts, questionnaire);
  check(hasExactly(consent, ["texts", "version"]) && isText(consent.version, 100), "consent");
  check(Number.isSafeInteger(wave) && wave >= 1 && wave <= questionnaire.waves, "wave");
  check(isText(nonce, 100), "nonce");
  check(hasExactly(guarantees, VIEWS), "guarantees");
  for (const view of VIEWS) {
    const lost = sum(parts.map(({ campaign }) => guaranteed(view, campaign)));
    checkTotal(lost, readNumber(guarantees[view], "guarantees"), `its ε in the view ${view}`);
  }
  const random = parts.filter(({ campaign }) => cost(campaign).view === "dealer"); // the others hold outright
  const own = {
    everything: readNumber(guarantees.everything, "guarantees"),
    delta: sum(random.map(({ campaign }) => campaign.guarantees.everything?.delta ?? 0)),
    dealer: readNumber(guarantees.dealer, "guarantees"),
  };
  const study = readStudy(document.study, document, own);
  checkConsent(consent.texts, questionnaire.languages, parts, own, study.promised);
  const [{ campaign: first }] = parts;
  return Object.freeze({
    bytes,
    hash: await hashOf(bytes),
    questionnaire,
    parts,
    consent: consent.texts,
    guarantees,
    study,
    panel,
    wave,
    collector: first.collector,
    invitations: first.invitations,
    dealers: dealersOf(parts),
    mayLeaveOut: parts.some(({ campaign }) => campaign.mayLeaveOut),
    opens: first.opens,
    closes: first.closes,
  });
}

/** The items that somebody with these open answers is asked, in order. */
export function askedItems({ questionnaire }, open) {
  return questionnaire.items.filter((item) => isAsked(questionnaire, item, open));
}

/** The parts that somebody with these open answers is asked. */
export function askedParts({ questionnaire, parts }, open) {
  return parts.filter(({ item }) => isAsked(questionnaire, item, open));
}

/** The ε of these answers together in a view: coins and cards differ, so losses add up. */
export function lossOf(parts, view) {
  const epsilon = sum(parts.map(({ campaign }) => campaign.losses[view]));
  return parts.length > 1 ? epsilon * (1 + 2 ** -40) : epsilon;
}

/** The same against whom it is largest, and against whom that is. */
export function surveyCost(survey, parts = survey.parts) {
  if (parts.length === 0) return { epsilon: 0, view: "report" };
  const view = costView(parts);
  return { epsilon: lossOf(parts, view), view };
}
