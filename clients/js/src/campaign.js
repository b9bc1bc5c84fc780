// A campaign: one document that dealers, collector and every contributor hold alike. Its name is
// the SHA-256 of its bytes, and that name stands in the link that contributors are given.

import { readCanonical, sha256, toHex } from "./documents.js";
import { ArgumentError, DamagedError, ProtocolError, UnsupportedError } from "./errors.js";
import { losses } from "./loss.js";
import { announces, checkMechanism, deals, masked, resized, stepsOf, valuesOf } from "./mechanisms.js";

const VERSION = 1;
const MOST = 1 << 20; // bytes of a document
const FIELDS = [
  "jrr_campaign", "capacity", "closes", "collector", "colluders", "consent", "covariates",
  "dealer", "dealing", "guarantees", "invitations", "labels", "mechanism", "min_cell", "nonce",
  "opens", "question", "results_every",
];
const OPTIONAL = ["number", "min_batch", "by", "contact"]; // only where they say something
const HERE = ["localhost", "127.0.0.1", "[::1]"];

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

/** Collector and campaign of a link as https://survey.example/v1/campaigns/0123…; or a survey. */
export function splitLink(link, kind = "campaigns") {
  const [collector, name, ...more] = String(link).trim().split(`/v1/${kind}/`);
  const digits = name?.replace(/\/$/u, "");
  if (more.length || !/^[0-9a-f]{64}$/u.test(digits ?? "")) {
    throw new ArgumentError("link", `link must end in /v1/${kind}/ and 64 digits`);
  }
  return { collector: checkAddress(collector), name: digits };
}

export const campaignPath = (name) => `/v1/campaigns/${name}`;

/** The name of a campaign with these bytes. */
export const hashOf = async (bytes) => toHex(await sha256(bytes));

// Neither halves of characters nor marks that turn the direction of a text around.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

export function isText(value, most, empty = false) {
  if (typeof value !== "string" || [...value].length > most) return false;
  return (empty || value.trim() !== "") && !UNPRINTABLE.test(value.replaceAll("\n", ""));
}

function isLabels(value, count = value?.length) {
  const fits = Array.isArray(value) && value.length === count && count > 0;
  return fits && value.every((label) => isText(label, 1000)) && new Set(value).size === count;
}

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isWhole = (value, low) => Number.isSafeInteger(value) && value >= low;

/** Two ends between which an answer lies that is a number. */
function isRange(value, mechanism) {
  const isPair = Array.isArray(value) && value.length === 2 && value.every(Number.isFinite);
  return isPair && valuesOf(mechanism) === 2 && value[0] < value[1] && Number.isFinite(value[1] - value[0]);
}

function check(fits, field) {
  if (!fits) throw new DamagedError("campaign", `${field} of the campaign is not acceptable`);
}

const DEALT_TOGETHER = ["JRR", "DRR", "OLH"]; // a committee shuffles cards that everybody knows

/** Where cards come from: addresses, and the role from which the pseudonym at each follows. */
function readDealers(dealer, mechanism, dealing) {
  if (dealer.kind === "groups") {
    throw new UnsupportedError("dealer", "this client takes no cards of groups of contributors");
  }
  check((dealer.kind === "none") === !deals(mechanism), "dealer");
  if (dealer.kind === "none") return [];
  const { dealers = 1 } = mechanism;
  check(dealer.kind === "servers" || dealers === 1, "dealer");
  if (dealer.kind === "server") return [{ url: checkAddress(dealer.url), role: "dealer" }];
  if (dealer.kind === "committee") {
    const { parties } = dealer;
    check(Array.isArray(parties) && parties.length >= 3 && parties.length <= 16, "dealer");
    check(dealing === "enrol" && DEALT_TOGETHER.includes(mechanism.mechanism), "dealing");
    return parties.map((party, number) => ({ url: checkAddress(party?.url), role: `party:${number}` }));
  }
  check(dealer.kind === "servers" && Array.isArray(dealer.urls), "dealer");
  check(dealer.urls.length >= 2 && dealer.urls.length === dealers, "dealer");
  check(typeof dealer.may_leave_out === "boolean" && announces(mechanism), "dealer");
  check(dealing === "arrival", "dealing");
  return dealer.urls.map((url, number) => ({ url: checkAddress(url), role: `dealer:${number}` }));
}

export const TOLERANCE = 1 + 1e-9; // of losses that two languages computed

/** Refuse a mechanism of which a campaign promises less than what holds, as far as can be told here. */
function checkPromises({ guarantees }, mechanism) {
  const own = losses(mechanism);
  const exact = !deals(mechanism) || masked(mechanism);
  for (const view of exact ? ["report", "dealer", "everything"] : ["dealer"]) {
    const said = view === "everything" ? guarantees[view]?.epsilon : guarantees[view];
    const promised = said === "unbounded" ? Infinity : said;
    check(typeof promised === "number", "guarantees");
    if (own[view] > promised * TOLERANCE + 1e-9) {
      throw new ProtocolError("understated", `the campaign understates its ε in the view ${view}`);
    }
  }
}

/** The canonical document in bytes that a server gave. */
export function readDocument(bytes, what) {
  if (bytes.length > MOST) throw new DamagedError(what, `${what} is over ${MOST} bytes`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new DamagedError(what, `${what} must be in UTF-8`);
  }
  return readCanonical(text);
}

/** The campaign in these bytes; what it refuses: index.d.ts. */
export async function readCampaign(bytes) {
  return campaignOf(readDocument(bytes, "campaign"), { bytes, hash: await hashOf(bytes) });
}

/** The campaign that a document describes; as `readCampaign`. A survey has one for each answer. */
export function campaignOf(document, { bytes = null, hash = null } = {}) {
  check(isObject(document) && isWhole(document.jrr_campaign, 1), "jrr_campaign");
  if (document.jrr_campaign !== VERSION) throw new UnsupportedError("version", "campaign of another version");
  const names = [...FIELDS, ...OPTIONAL.filter((name) => Object.hasOwn(document, name))];
  const given = Object.keys(document);
  check(given.length === names.length && names.every((name) => given.includes(name)), "fields");
  const { consent, covariates, dealer, guarantees, labels, question, dealing } = document;
  for (const name of ["mechanism", "consent", "covariates", "dealer", "guarantees"]) {
    check(isObject(document[name]), name);
  }
  const mechanism = checkMechanism(document.mechanism);
  check(isText(question, 2000), "question");
  check(isText(consent.text, 100_000, true) && isText(consent.version, 100), "consent");
  for (const name of ["by", "contact"]) check(document[name] === undefined || isText(document[name], 500), name);
  check(isLabels(labels, valuesOf(mechanism)), "labels");
  const number = document.number ?? null;
  check(number === null ? stepsOf(mechanism) === 1 : isRange(number, mechanism), "number");
  check(isWhole(document.capacity, 1), "capacity");
  const batch = document.min_batch; // reports in the smallest result; 1 is left out
  check(batch === undefined || (isWhole(batch, 2) && batch <= document.capacity), "min_batch");
  check(typeof document.invitations === "boolean", "invitations");
  check(dealing === "arrival" || dealing === "enrol", "dealing");
  for (const [name, values] of Object.entries(covariates)) {
    check(isText(name, 100) && isLabels(values), "covariates");
  }
  const dealers = readDealers(dealer, mechanism, dealing);
  const origins = [checkAddress(document.collector), ...dealers.map(({ url }) => url)].map(
    (url) => new URL(url).origin,
  );
  check(new Set(origins).size === origins.length, "dealer: one server must not be both");
  const campaign = Object.freeze({
    bytes,
    hash,
    question,
    labels,
    number,
    consent: consent.text,
    by: document.by ?? null,
    contact: document.contact ?? null,
    covariates,
    mechanism,
    dealers,
    collector: document.collector,
    invitations: document.invitations,
    byCommittee: dealer.kind === "committee",
    mayLeaveOut: dealer.may_leave_out === true,
    announces: announces(mechanism),
    enrols: deals(mechanism) && dealing === "enrol",
    capacity: document.capacity,
    guarantees,
    opens: document.opens,
    closes: document.closes,
    losses: losses(mechanism),
  });
  checkPromises(campaign, mechanism);
  return campaign;
}

/** The mechanism for as many people as enrolled, if it keeps what the campaign promises. */
export function forPeople(campaign, n, who) {
  const { mechanism, capacity } = campaign;
  if (!campaign.enrols) return mechanism;
  if (!isWhole(n, 0) || n > capacity) {
    throw new ProtocolError("damaged", `${who} has not said how many people are dealt cards`);
  }
  if (n < mechanism.n) throw new ProtocolError("too-few", `${n} have enrolled: too few`);
  if (n === mechanism.n) return mechanism;
  const dealt = resized(mechanism, n);
  checkPromises(campaign, dealt);
  return dealt;
}

/**
 * The ε that one answer costs, and against whom. Masks stay secret however many others are known; of
 * other cards this is what somebody learns who knows the card: never less than what holds.
 */
export function cost(campaign) {
  if (!deals(campaign.mechanism)) return { epsilon: campaign.losses.report, view: "report" };
  const view = masked(campaign.mechanism) ? "everything" : "dealer";
  return { epsilon: campaign.losses[view], view };
}
