// A verified card on the device; the same as src/jrr/dealing/verified/cards.py. The dealer's promised
// key, and the device's serial number and nonce fix its masks: the device draws them again.

import { ed25519, ristretto255_hasher, ristretto255_oprf } from "../vendor/noble.js";
import { commit, digest, littleEndian, modulo, readPoint, utf8 } from "./group.js";
import { Stream } from "./stream.js";

const ONE = littleEndian(1, 32); // nothing is blinded: the dealer may know what it is asked for
const GROUP = { DST: "HashToGroup-OPRFV1-\x01-ristretto255-SHA512" };

/** What a dealer's signatures and cards are bound to: the survey and its promise (canonical JSON). */
export const dealerContext = (survey, promise) => digest("dealer", survey, promise);

/** What proofs are bound to: the survey and the promises of all its dealers. */
export const surveyContext = (survey, contexts) => digest("survey", survey, ...contexts);

/** What a proof is bound to; a serial is null where a dealer was left out. */
export function reportBinding(context, question, pseudonym, serials) {
  const listed = serials.map((serial) => serial ?? new Uint8Array(0));
  return digest("report", context, utf8(question), pseudonym, ...listed);
}

/** The value of the dealer's keyed function (RFC 9497), or null where it is not shown to be that. */
export function keyOf(cards, context, { serial, nonce }, evaluation) {
  const given = digest("asked", context, serial, nonce);
  const asked = ristretto255_hasher.hashToCurve(given, GROUP).toBytes();
  const element = evaluation.slice(0, 32);
  try {
    return ristretto255_oprf.voprf.finalize(given, ONE, element, asked, cards, evaluation.slice(32));
  } catch {
    return null;
  }
}

/** The card of one question: `masks`, `blindings` and `commitments` (points). */
export function cardFrom(key, question, { numbers, rate }) {
  const stream = new Stream("masks", key, utf8(question));
  const masks = [];
  const blindings = [];
  for (let at = 0; at < numbers; at += 1) {
    masks.push(stream.laplace(rate));
    blindings.push(stream.number());
  }
  return { masks, blindings, commitments: masks.map((mask, at) => commit(mask, blindings[at])) };
}

/** Whether the dealer has signed a card: to what it is committed, and for which serial number. */
export function isSigned(signing, context, question, serial, { commitments }, signature) {
  const points = commitments.map((point) => point.toBytes());
  const message = digest("card", context, utf8(question), serial, ...points);
  try {
    return ed25519.verify(signature, message, signing, { zip215: false });
  } catch {
    return false;
  }
}

/** The cards of several dealers as one. */
export function addedCards(cards) {
  const [first, ...others] = cards;
  return others.reduce(
    (sum, card) => ({
      masks: sum.masks.map((mask, at) => mask + card.masks[at]),
      blindings: sum.blindings.map((blinding, at) => modulo(blinding + card.blindings[at])),
      commitments: sum.commitments.map((point, at) => point.add(card.commitments[at])),
    }),
    first,
  );
}

/** Whether bytes are a key that a promise can name. */
export const isKey = (bytes) => readPoint(bytes) !== null;
