// What answers have cost, on this device: an entry for each, made before its report is kept and
// sent, so that nothing was sent that is not in it. It holds nothing of an answer.

const PREFIX = "spent:";

/** ε of answers together: cards and words are fresh for each, so that losses add up. */
const added = (entries) => entries.reduce((sum, { epsilon }) => sum + epsilon, 0) * (1 + 2 ** -40);

export class Ledger {
  #storage;

  constructor(storage) {
    this.#storage = storage;
  }

  /** Every answer: `campaign` (its hash), `person` (a name that nobody else knows), ε, view. */
  async entries() {
    return (await this.#storage.list(PREFIX)).map((text) => JSON.parse(text));
  }

  /** How many answers there were, and what they cost together. */
  async spent() {
    const entries = await this.entries();
    return { answers: entries.length, epsilon: added(entries) };
  }

  /** Enter an answer unless it is there; `check` throws where those before forbid it. */
  async enter(entry, check = () => {}) {
    const key = `${PREFIX}${entry.campaign}:${entry.person}`;
    await this.#storage.addChecked(PREFIX, key, JSON.stringify(entry), (kept) =>
      check(kept.map((text) => JSON.parse(text))),
    );
  }
}

/** What answers in a ledger and some more at ε each cost together. */
export const totalWith = (entries, epsilon, more) => added([...entries, { epsilon: epsilon * more }]);
