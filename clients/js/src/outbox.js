// Finished reports. A person's answer is perturbed once; from then on these bytes are sent and no
// others, until the collector has them. They stay afterwards, so that nobody answers twice here.

export class Outbox {
  #storage;

  constructor(storage) {
    this.#storage = storage;
  }

  /** What is kept for this person: `body` and whether it was `sent`; or null. */
  async find(survey, name) {
    const text = await this.#storage.get(`report:${survey}:${name}`);
    return text === undefined ? null : JSON.parse(text);
  }

  /** Keep a report unless one is kept; what is kept now. */
  async keep(survey, name, body) {
    const entry = JSON.stringify({ body, sent: false });
    return JSON.parse(await this.#storage.add(`report:${survey}:${name}`, entry));
  }

  /** The collector has it. */
  async markSent(survey, name, body) {
    await this.#storage.put(`report:${survey}:${name}`, JSON.stringify({ body, sent: true }));
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
