// Requests that are repeated, ever more slowly, while nothing comes and patience lasts.

import { ProtocolError, UnreachableError } from "./errors.js";

const FIRST_WAIT = 0.2;
const LONGEST_WAIT = 5; // seconds between two tries
const ANSWER_WAIT = 15; // seconds that one try may take
const MOST_SECONDS = 5; // digits of Retry-After that are read

/** Whether trying again later may help: nothing came, or the server had trouble. */
export const gaveUp = ({ status }) => status === 0 || status === 429 || status >= 500;

async function ask(fetcher, address, body) {
  try {
    const reply = await fetcher(address, {
      method: body === undefined ? "GET" : "POST",
      body,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      // Nothing of this browser goes along: no cookies, no address of the page, no cache.
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(ANSWER_WAIT * 1000),
    });
    const later = secondsOf(reply.headers.get("Retry-After"));
    return { status: reply.status, body: new Uint8Array(await reply.arrayBuffer()), later };
  } catch {
    return { status: 0, body: new Uint8Array(), later: 0 };
  }
}

/** What a server says in Retry-After, as far as it is a number of seconds; else 0. */
export function secondsOf(text) {
  const digits = (text ?? "").trim();
  return /^\d+$/u.test(digits) && digits.length <= MOST_SECONDS ? Number(digits) : 0;
}

/** Whether the browser says that there is no network: then waiting for servers is no use. */
const isOffline = () => globalThis.navigator?.onLine === false;

const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/**
 * Ask until a server answers that has no trouble, as long as `patience` (seconds) lasts; `also`:
 * statuses after which to ask again; `silenceIsFine`: the last reply instead of an error.
 */
export async function insist(net, address, { body, silenceIsFine = false, also = [] } = {}) {
  let [pause, waited] = [FIRST_WAIT, 0];
  for (;;) {
    const reply = await ask(net.fetch, address, body);
    if (!gaveUp(reply) && !also.includes(reply.status)) return reply;
    if (waited >= net.patience || (reply.status === 0 && isOffline())) {
      if (silenceIsFine) return reply;
      throw unreachable(reply);
    }
    const seconds = Math.min(Math.max(pause, reply.later), net.patience - waited);
    await wait(seconds);
    waited += Math.max(pause, seconds);
    pause = Math.min(2 * pause, LONGEST_WAIT);
  }
}

export function unreachable({ status }) {
  return new UnreachableError("unreachable", status ? `a server said ${status}` : "no answer");
}

/** The JSON object in a reply. */
export function readReply(reply) {
  try {
    const document = JSON.parse(new TextDecoder().decode(reply.body));
    if (document !== null && typeof document === "object" && !Array.isArray(document)) {
      return document;
    }
  } catch {
    // as below
  }
  throw new ProtocolError("damaged", "a server must reply with a JSON object");
}

/** The reason that a server gives; its kind is the last part of the problem's type. */
export function refused(who, reply) {
  let [kind, detail] = ["refused", ""];
  try {
    const problem = readReply(reply);
    kind = String(problem.type ?? "").split(":").at(-1) || kind;
    detail = String(problem.detail ?? problem.title ?? "");
  } catch {
    // no reason given
  }
  const shown = detail.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, 300);
  return new ProtocolError(kind, `${who} refused (${reply.status}): ${shown || "no reason given"}`);
}
