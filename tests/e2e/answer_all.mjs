// People enrol for or answer a survey, one after another, by the JavaScript client, each on a
// device of its own.
//
// Reads {act, link, invitations, answers, storages} from stdin; writes what each device
// holds after enrolling ([key, text] pairs, to be given back as storages), or what each one sent.

import { readFileSync } from "node:fs";

import { Contributor, MemoryStorage } from "../../clients/js/src/index.js";

class Device extends MemoryStorage {
  entries = [];

  static async with(entries) {
    const device = new Device();
    for (const [key, value] of entries) await device.add(key, value);
    return device;
  }

  async add(key, value) {
    const kept = await super.add(key, value);
    this.entries.push([key, kept]);
    return kept;
  }
}

const { act, link, invitations, answers, storages } = JSON.parse(readFileSync(0, "utf8"));
const done = [];
for (const [at, invitation] of invitations.entries()) {
  const storage = await Device.with(storages?.[at] ?? []);
  const person = new Contributor(link, { invitation, limit: 20, patience: 0.3, storage });
  if (act === "enrol") {
    await person.enrol();
    await person.enrol(); // the same place
    done.push(storage.entries);
    continue;
  }
  await person.checkReady();
  const { body } = await person.answer(answers[at]);
  const again = await new Contributor(link, { invitation, limit: 20, storage }).resume();
  if (again.body !== null || !again.before) throw new Error("another report");
  done.push(body);
}
process.stdout.write(JSON.stringify(done));
