// Cards that a committee dealt: every party holds a sealed share, and together they make the card. A
// share that is not what its party had committed to, or shares that do not fit, are complained of.

import { canonicalJson, fromHex, sha256, toHex } from "./documents.js";
import { ProtocolError } from "./errors.js";
import { joined, openSealed } from "./hpke.js";

const PRIME = 2n ** 31n - 1n;
const NAMES = ["alpha", "campaign", "hash", "n", "roots"];
const NEWER = ["alpha", "campaign", "checks", "hash", "n", "roots", "roster"];

/**
 * The card is not acceptable.
 *
 * `accused`: the party whose fault it is, null where that cannot be told; `provable`: whether its
 * share, opened, shows so to everybody.
 */
function refusal(reason, accused = null, provable = false) {
  const error = new ProtocolError("integrity", `the committee's card: ${reason}`);
  return Object.assign(error, { accused, provable });
}

const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

/** Whether a message is number `index` of `count` under a root (RFC 6962's tree). */
export async function belongs(message, index, count, path, root) {
  if (index >= count) return false;
  const left = [...path];
  let node = await sha256(joined(Uint8Array.of(0), message));
  for (let [at, size] = [index, count]; size > 1; [at, size] = [Math.floor(at / 2), Math.ceil(size / 2)]) {
    if (at === size - 1 && at % 2 === 0) continue; // the last one without a neighbour
    const neighbour = left.shift();
    if (neighbour === undefined) return false;
    const pair = at % 2 ? [neighbour, node] : [node, neighbour];
    node = await sha256(joined(Uint8Array.of(1), ...pair));
  }
  return left.length === 0 && toHex(node) === root;
}

/** The record of the deal and one's envelope, as a party gives them. */
function readShare(reply, party) {
  const { record, envelope } = reply ?? {};
  const names = String(Object.keys(record ?? {}).sort());
  const isRecord =
    (names === String(NAMES) || names === String(NEWER)) && isCount(record.n) && isCount(record.alpha) &&
    BigInt(record.alpha) < PRIME && Array.isArray(record.roots) &&
    record.roots.every((root) => fromHex(root) !== null);
  const path = Array.isArray(envelope?.path) ? envelope.path.map((entry) => fromHex(entry)) : [null];
  if (!isRecord || !isCount(envelope.slot) || path.includes(null)) {
    throw refusal(`party ${party} must give one record and one envelope`, party);
  }
  let sealed;
  try {
    sealed = Uint8Array.from(atob(envelope.sealed), (letter) => letter.charCodeAt(0));
  } catch {
    throw refusal(`party ${party} must give a sealed share`, party);
  }
  const excess = fromHex(envelope.excess ?? "", record.roots.length * 4);
  const excessPath = (envelope.excess_path ?? []).map?.((entry) => fromHex(entry)) ?? [null];
  return { record, slot: envelope.slot, sealed, path, excess, excessPath };
}

/** What the shares of a slot were checked with, from whoever shows it with proof; else null. */
async function shownExcess({ n, checks }, shares) {
  for (const { slot, excess, excessPath } of shares) {
    if (excess === null || excessPath.includes(null)) continue;
    if (checks !== undefined && (await belongs(excess, slot, n, excessPath, checks))) return excess;
  }
  return null;
}

/** The first party whose shares are not what was checked; -1 where that cannot be told. */
async function culprit(record, shares, opened) {
  const excess = await shownExcess(record, shares);
  if (excess === null) return -1;
  const due = new DataView(excess.buffer, excess.byteOffset);
  return opened.findIndex(([card, tag], party) => {
    const own = (tag - ((BigInt(record.alpha) * card) % PRIME) + 2n * PRIME) % PRIME;
    return own !== BigInt(due.getUint32(4 * party, true));
  });
}

/** A share of one's own slot, as the accused gave it, with the key that opens it. */
export function evidenceOf(reply, party, key) {
  const { sealed, path } = reply.envelope;
  return { party, sealed, path, key: toHex(key.seed) };
}

/** What a share is bound to: campaign, party and slot. */
function labelOf(campaign, party, slot) {
  const numbers = new DataView(new ArrayBuffer(16));
  [party, slot].forEach((number, at) => numbers.setBigUint64(8 * at, BigInt(number), true));
  const label = new TextEncoder().encode("jrr committee share 2:");
  return joined(label, fromHex(campaign), new Uint8Array(numbers.buffer));
}

/** The card behind an element: 1, 2, … stand for the faces of the deck that have cards. */
function cardOf(mechanism, element) {
  const { mechanism: name, n, plus, deck } = mechanism;
  const half = Math.floor(n / 2);
  const signs = plus === undefined ? [half, half, n % 2] : [plus, n - plus, 0];
  const [faces, counts] = name === "DRR" ? [[...deck.keys()], deck] : [[1, -1, 0], signs];
  const at = Number(element) - 1;
  if (at < 0 || at >= faces.length || !counts[at]) throw refusal("the shares add up to no card");
  return faces[at];
}

/** One's card, from the replies of all parties; else somebody broke the rules. */
export async function openCard(campaign, mechanism, key, replies) {
  const shares = replies.map((reply, party) => readShare(reply, party));
  const stories = shares.map((share) => canonicalJson(share.record));
  const usual = stories.find((one) => 2 * stories.filter((other) => other === one).length > stories.length);
  if (usual === undefined) throw refusal("the parties tell different stories");
  const liar = stories.findIndex((one) => one !== usual);
  if (liar >= 0) throw refusal(`party ${liar} tells another story of the deal than most`, liar);
  const { record, slot } = shares[0];
  const { campaign: name, n, roots, alpha } = record;
  const fits = name === campaign.hash && n === mechanism.n;
  if (!fits || roots.length !== replies.length) throw refusal("the record is of another deal");
  if (shares.some((share) => share.slot !== slot)) throw refusal("the parties do not agree on the slot");
  let [card, tag] = [0n, 0n];
  const opened = [];
  for (const [party, { sealed, path }] of shares.entries()) {
    if (!(await belongs(sealed, slot, n, path, roots[party]))) {
      throw refusal(`party ${party} serves another share than it had committed to`, party);
    }
    const share = await openSealed(key, labelOf(name, party, slot), sealed);
    if (share === null || share.length !== 8) {
      throw refusal(`the share of party ${party} is not sealed to this contributor`, party, true);
    }
    const numbers = new DataView(share.buffer, share.byteOffset);
    opened.push([BigInt(numbers.getUint32(0, true)) % PRIME, BigInt(numbers.getUint32(4, true)) % PRIME]);
    card = (card + opened[party][0]) % PRIME;
    tag = (tag + opened[party][1]) % PRIME;
  }
  if (tag !== (BigInt(alpha) * card) % PRIME) {
    const party = await culprit(record, shares, opened);
    if (party < 0) throw refusal("the card does not match its tag");
    throw refusal(`party ${party} sealed another share than was checked`, party, true);
  }
  return cardOf(mechanism, card);
}
