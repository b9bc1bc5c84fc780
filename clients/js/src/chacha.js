// ChaCha20-Poly1305 (RFC 8439), for opening short messages: browsers do not have it.

const rotated = (x, by) => (x << by) | (x >>> (32 - by));

function quarterRound(s, a, b, c, d) {
  s[a] += s[b]; s[d] = rotated(s[d] ^ s[a], 16);
  s[c] += s[d]; s[b] = rotated(s[b] ^ s[c], 12);
  s[a] += s[b]; s[d] = rotated(s[d] ^ s[a], 8);
  s[c] += s[d]; s[b] = rotated(s[b] ^ s[c], 7);
}

const ROUNDS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];

const wordsOf = (bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 4 }, (_, at) => view.getUint32(4 * at, true));
};

/** Block number `counter` of the key stream: 64 bytes. */
function block(key, nonce, counter) {
  const start = Uint32Array.of(
    0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, ...wordsOf(key), counter, ...wordsOf(nonce),
  );
  const state = start.slice();
  for (let turn = 0; turn < 10; turn++) for (const four of ROUNDS) quarterRound(state, ...four);
  const view = new DataView(new ArrayBuffer(64));
  state.forEach((word, at) => view.setUint32(4 * at, word + start[at], true));
  return new Uint8Array(view.buffer);
}

const number = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** Poly1305 of a message, as a number of 128 bits. */
function authenticator(key, message) {
  const r = number(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn;
  let sum = 0n;
  for (let at = 0; at < message.length; at += 16) {
    const part = message.subarray(at, at + 16);
    sum = ((sum + number(part) + (1n << BigInt(8 * part.length))) * r) % ((1n << 130n) - 5n);
  }
  return (sum + number(key.subarray(16, 32))) & ((1n << 128n) - 1n);
}

/** What is authenticated: what goes along and the sealed text, each filled up to 16 bytes, and their lengths. */
function framed(along, sealed) {
  const filled = (length) => 16 * Math.ceil(length / 16);
  const frame = new Uint8Array(filled(along.length) + filled(sealed.length) + 16);
  frame.set(along);
  frame.set(sealed, filled(along.length));
  const view = new DataView(frame.buffer);
  view.setBigUint64(frame.length - 16, BigInt(along.length), true);
  view.setBigUint64(frame.length - 8, BigInt(sealed.length), true);
  return frame;
}

/**
 * The message that was sealed with this key and nonce; null where it, or what went along, was changed.
 *
 * @param {Uint8Array} key 32 bytes.
 * @param {Uint8Array} nonce 12 bytes.
 * @param {Uint8Array} box Message and tag.
 * @param {Uint8Array} [along] What was sealed with it and is not secret.
 */
export function openBox(key, nonce, box, along = new Uint8Array()) {
  if (box.length < 16) return null;
  const [sealed, tag] = [box.subarray(0, -16), box.subarray(-16)];
  if (authenticator(block(key, nonce, 0), framed(along, sealed)) !== number(tag)) return null;
  const message = Uint8Array.from(sealed);
  for (let at = 0; at < message.length; at += 64) {
    const stream = block(key, nonce, 1 + at / 64);
    for (let of = at; of < Math.min(at + 64, message.length); of++) message[of] ^= stream[of - at];
  }
  return message;
}
