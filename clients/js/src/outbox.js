// Finished reports. A person's answer is perturbed once; from then on these bytes are sent and no
// others, until the collector has them. They stay afterwards, so that nobody answers twice here.

export class Outbox {
  #storage;

  constructor(storage) {
    this.#storage = storage;
  }

  /** The report kept for this person: `body` and whether it was `sent`; or null. */
  async find(campaign, name) {
    const text = await this.#storage.get(`report:${campaign}:${name}`);
    return text === undefined ? null : JSON.parse(text);
  }

  /** Keep a report unless one is kept; what is kept now. */
  async keep(campaign, name, body) {
    const entry = JSON.stringify({ body, sent: false });
    return JSON.parse(await this.#storage.add(`report:${campaign}:${name}`, entry));
  }

  /** The collector has it. */
  async markSent(campaign, name, body) {
    await this.#storage.put(`report:${campaign}:${name}`, JSON.stringify({ body, sent: true }));
  }

  /** Somebody has a place in the next deal. */
  async noteSeat(campaign, person) {
    await this.#storage.add(`seat:${campaign}:${person}`, "taken");
  }

  async hasSeat(campaign, person) {
    return (await this.#storage.get(`seat:${campaign}:${person}`)) !== undefined;
  }

  /** A random secret of this device, made once, in hexadecimal digits. */
  secret(purpose, fresh) {
    return this.#storage.add(`secret:${purpose}`, fresh);
  }
}
