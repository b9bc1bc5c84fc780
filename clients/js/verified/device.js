// What a device does with verified cards; loaded only by surveys that have some (src/lazy.js).

import { addedCards, cardFrom, dealerContext, isKey, isSigned, keyOf, reportBinding, surveyContext } from "./cards.js";
import { digest, utf8 } from "./group.js";
import { possible, prove } from "./proofs.js";

const HEX = /^(?:[0-9a-f]{2})*$/u;
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The bytes of so many; null for anything else. */
function bytesOf(text, size) {
  if (typeof text !== "string" || text.length !== 2 * size || !HEX.test(text)) return null;
  return Uint8Array.from({ length: size }, (_, at) => parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/** What a dealer promises, read: keys, and what its cards are bound to; null where it is none. */
export function readPromise(survey, promise) {
  const { signing, cards, noise } = promise ?? {};
  const [sign, key, root] = [signing, cards, noise].map((text) => bytesOf(text, 32));
  if (sign === null || key === null || root === null || !isKey(key)) return null;
  const canonical = JSON.stringify({ cards, noise, signing }); // sorted by name, hexadecimal digits
  return { signing: sign, cards: key, context: dealerContext(bytesOf(survey, 32), utf8(canonical)) };
}

/** What a dealer is asked with: the same whenever this device asks, another at each dealer. */
export function serialAndNonce(device, survey, role) {
  const derived = digest("serial and nonce", device, bytesOf(survey, 32), utf8(role));
  return { serial: derived.slice(0, 16), nonce: derived.slice(16, 48) };
}

/** What goes into the request for cards. */
export const requestOf = ({ serial, nonce }) => ({ serial: hexOf(serial), nonce: hexOf(nonce) });

/**
 * The cards that a dealer gave, by question, drawn again by this device.
 *
 * @param laws Question -> `numbers` and `rate`.
 * @returns null where the dealer has not kept its promise.
 */
export function checkDealt(promise, asked, laws, { evaluation, signatures }) {
  const told = bytesOf(evaluation, 96);
  const key = told === null ? null : keyOf(promise.cards, promise.context, asked, told);
  if (key === null) return null;
  const found = {};
  for (const [question, law] of Object.entries(laws)) {
    const card = cardFrom(key, question, law);
    const signature = bytesOf(signatures?.[question], 64);
    if (signature === null) return null;
    if (!isSigned(promise.signing, promise.context, question, asked.serial, card, signature)) return null;
    found[question] = { ...card, signature };
  }
  return found;
}

/**
 * Of one question, what proves an answer: a function of what the coin says.
 *
 * @param promises Of all dealers, read.
 * @param dealt What each dealer gave: `asked` and the `card`; null: it was left out.
 * @param shape `numbers`, `largest` and `sums` of the coin.
 */
export function provingOf(survey, promises, question, dealt, { numbers, largest, sums }) {
  const context = surveyContext(bytesOf(survey, 32), promises.map((one) => one.context));
  const given = dealt.filter((one) => one !== null).map(({ card }) => card);
  return (pseudonym, said) => {
    const { masks, blindings, commitments } = addedCards(given);
    const serials = dealt.map((one) => one?.asked.serial ?? null);
    const binding = reportBinding(context, question, bytesOf(pseudonym, 32), serials);
    const reports = masks.map((mask, at) => mask + said[at]);
    const statement = { binding, possible: possible(numbers, largest, sums), commitments, reports };
    const proof = prove(statement, said, blindings);
    const signed = dealt.map((one) => one && {
      commitments: one.card.commitments.map((point) => hexOf(point.toBytes())),
      signature: hexOf(one.card.signature),
    });
    return {
      report: reports.length === 1 ? reports[0] : reports,
      serials: serials.map((serial) => serial && hexOf(serial)),
      commitments: signed,
      proof: hexOf(proof),
    };
  };
}
