// Finished reports, and the secrets that made them possible. A person's answer is perturbed once; from
// then on these bytes are sent and no others, until the collector has them. Then everything is
// forgotten but a mark that it was sent, so that nobody answers twice here.

export class Outbox {
  #storage;

  constructor(storage) {
    this.#storage = storage;
  }

  /** What is kept under a name: `body` and whether it was `sent` (then without body); or null. */
  async find(survey, kept) {
    const text = await this.#storage.get(`report:${survey}:${kept}`);
    return text === undefined ? null : JSON.parse(text);
  }

  /** Keep a report unless one is kept, or was sent; what is kept now. */
  async keep(survey, kept, body) {
    const entry = JSON.stringify({ body, sent: false });
    return JSON.parse(await this.#storage.add(`report:${survey}:${kept}`, entry));
  }

  /** The collector has it: forget the report, this person's place and the secrets. */
  async forget(survey, kept, person, purposes) {
    await this.#storage.remove(`seat:${survey}:${person}`);
    for (const purpose of purposes) await this.#storage.remove(`secret:${purpose}`);
    // Last: whoever is interrupted before sends the report again, and forgets the rest then.
    await this.#storage.put(`report:${survey}:${kept}`, JSON.stringify({ sent: true }));
  }

  /** Somebody has a place in the next deal. */
  async noteSeat(survey, person) {
    await this.#storage.add(`seat:${survey}:${person}`, "taken");
  }

  async hasSeat(survey, person) {
    return (await this.#storage.get(`seat:${survey}:${person}`)) !== undefined;
  }

  /** A random secret of this device, made once, in hexadecimal digits. */
  secret(purpose, fresh) {
    return this.#storage.add(`secret:${purpose}`, fresh);
  }
}
