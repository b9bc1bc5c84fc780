// Steps of a contributor's conversation: settings that are checked, a document that must be the one
// which the link names, an upload that is sent until it is received.

import { hashOf, surveyPath } from "./checks.js";
import { fromHex, toHex } from "./documents.js";
import { ArgumentError, ProtocolError } from "./errors.js";
import { invitationSecret, newSecret, pseudonym } from "./identity.js";
import { Ledger, totalWith } from "./ledger.js";
import { secureWords } from "./mechanisms.js";
import { Outbox } from "./outbox.js";
import { gaveUp, insist, refused, unreachable } from "./steps.js";

/** What somebody gave to a contributor's constructor, checked. */
export function settingsOf(options) {
  const { limit, totalLimit = Infinity, storage, invitation, patience = 30, fetch } = options;
  const { words = secureWords } = options;
  if (!(limit > 0)) throw new ArgumentError("limit", "limit must be an ε above 0");
  if (!(totalLimit > 0)) throw new ArgumentError("totalLimit", "totalLimit must be an ε above 0");
  if (!storage) throw new ArgumentError("storage", "storage must be given");
  return {
    limit,
    totalLimit,
    words,
    invitation: invitation === undefined ? null : invitationSecret(invitation),
    outbox: new Outbox(storage),
    ledger: new Ledger(storage),
    net: { fetch: fetch ?? globalThis.fetch.bind(globalThis), patience },
  };
}

/** The document that a link names, from its collector, read by `read`. */
export async function fetchNamed(net, { collector, name }, read) {
  const reply = await insist(net, collector + surveyPath(name));
  if (reply.status !== 200) throw refused("the collector", reply);
  if ((await hashOf(reply.body)) !== name) {
    throw new ProtocolError("different", "the collector serves another survey than the link names");
  }
  const document = await read(reply.body);
  if (document.collector !== collector) {
    throw new ProtocolError("different", "the survey names another collector");
  }
  return document;
}

/** Refuse a state in which the collector takes no answers; before a deal people may enrol. */
export function checkState(state, enrols = false) {
  if (state === "closed") throw new ProtocolError("closed", "it takes no more answers");
  if (state !== "open" && !enrols) throw new ProtocolError("too-early", "it takes no answers yet");
}

/** Refuse so many more answers of this cost, if they would be too many with those before. */
export function checkTotal({ totalLimit }, entries, epsilon, more) {
  const total = totalWith(entries, epsilon, more);
  if (total > totalLimit) {
    throw new ProtocolError("cost", `answers would cost ε = ${total} together: too much`);
  }
}

const publicSecret = (salt) => `public:${salt}`;
const deviceSecret = (hash, person) => `device:${hash}:${person}`;

/** Whoever holds the invitation; where anybody may answer, this device, by a name for `salt`. */
export async function holderOf({ invitation, outbox }, { invitations }, salt) {
  if (invitation !== null) return invitation;
  if (invitations) throw new ArgumentError("invitation", "invitation must be given");
  return fromHex(await outbox.secret(publicSecret(salt), toHex(newSecret())), 20);
}

/** Whose answer it is, by a name that nobody else knows: several people may share a device. */
export const personOf = async (secret, hash) => (await pseudonym(secret, hash, "state")).slice(0, 32);

/** A secret of a person on this device, so that nobody else can fetch its cards. */
export async function deviceOf({ outbox }, hash, person) {
  return fromHex(await outbox.secret(deviceSecret(hash, person), toHex(newSecret(32))));
}

/** What was kept and perhaps not received goes to `send`; null where nothing was kept. */
export async function sendAgain(kept, send) {
  if (kept === null) return null;
  return kept.sent ? { body: null, before: true } : send(kept.body);
}

/** Send what is kept until the collector has it, then forget it; whether that had it before. */
export async function sendKept({ net, outbox }, address, { hash, panel }, { kept, person, body }) {
  const reply = await insist(net, address, { body, silenceIsFine: true, also: [425] });
  if (gaveUp(reply)) throw unreachable(reply);
  if (reply.status !== 200 && reply.status !== 201) {
    throw Object.assign(refused("the collector", reply), { posted: true }); // it has seen the report
  }
  const purposes = [deviceSecret(hash, person), publicSecret(panel ?? hash)];
  await outbox.forget(hash, kept, person, purposes);
  return { body, before: reply.status === 200 };
}
