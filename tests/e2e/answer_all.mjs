// People answer a campaign one after another by the JavaScript client, each on a device of its own.
//
// Reads {link, invitations, values, covariates} from stdin; writes what each one sent.

import { readFileSync } from "node:fs";

import { Contributor, MemoryStorage } from "../../clients/js/src/index.js";

const { link, invitations, values, covariates } = JSON.parse(readFileSync(0, "utf8"));
const sent = [];
for (const [at, invitation] of invitations.entries()) {
  const storage = new MemoryStorage();
  const person = new Contributor(link, { invitation, limit: 20, patience: 0.3, storage });
  await person.checkReady();
  const { body } = await person.answer(values[at], { covariates });
  const again = await new Contributor(link, { invitation, limit: 20, storage }).resume();
  if (again.body !== body) throw new Error("another report");
  sent.push(body);
}
process.stdout.write(JSON.stringify(sent));
