export { uploadOf } from "./answers.js";
export { hashOf, splitLink } from "./checks.js";
export { Contributor } from "./contributor.js";
export { belief, costTable } from "./costs.js";
export { forPeople } from "./dealing.js";
export { canonicalJson, readCanonical } from "./documents.js";
export {
  ArgumentError,
  DamagedError,
  JrrError,
  ProtocolError,
  UnreachableError,
  UnsupportedError,
} from "./errors.js";
export { COLLECTOR, checkLetters, invitationSecret, pseudonym } from "./identity.js";
export { Ledger } from "./ledger.js";
export { losses } from "./loss.js";
export {
  chances,
  checkCard,
  checkMechanism,
  deals,
  reportFromWords,
  respond,
  supports,
  wordsNeeded,
} from "./mechanisms.js";
export { roundedNumber } from "./numbers.js";
export { Outbox } from "./outbox.js";
export { checkOpenAnswers, isAsked } from "./open-answers.js";
export { askedAnswers, askedQuestions, readSurvey, surveyCost } from "./survey.js";
export { HeavyHitters, Longitudinal, Numbers, RangeTree, headerLine, lineOf, readAsked } from "./telemetry.js";
export { notAsked } from "./together.js";
export { IndexedDbStorage, MemoryStorage } from "./storage.js";
