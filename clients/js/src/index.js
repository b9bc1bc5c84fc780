export { Contributor } from "./contributor.js";
export { cost, hashOf, readCampaign, splitLink } from "./campaign.js";
export { canonicalJson, readCanonical } from "./documents.js";
export {
  ArgumentError,
  DamagedError,
  JrrError,
  ProtocolError,
  UnreachableError,
  UnsupportedError,
} from "./errors.js";
export { checkLetters, collectorRole, invitationSecret, pseudonym } from "./identity.js";
export { losses } from "./loss.js";
export {
  checkCard,
  checkMechanism,
  reportFromWords,
  respond,
  wordsNeeded,
} from "./mechanisms.js";
export { Outbox } from "./outbox.js";
export { IndexedDbStorage, MemoryStorage } from "./storage.js";
