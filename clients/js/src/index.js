export { Contributor } from "./contributor.js";
export { cost, forPeople, hashOf, readCampaign, splitLink } from "./campaign.js";
export { belief, costTable } from "./costs.js";
export { canonicalJson, readCanonical } from "./documents.js";
export {
  ArgumentError,
  DamagedError,
  JrrError,
  ProtocolError,
  UnreachableError,
  UnsupportedError,
} from "./errors.js";
export { checkLetters, invitationSecret, pseudonym } from "./identity.js";
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
export { SurveyContributor, uploadOf } from "./survey-contributor.js";
export { askedItems, askedParts, isSurveyLink, readSurvey, surveyCost } from "./survey.js";
export { IndexedDbStorage, MemoryStorage } from "./storage.js";
