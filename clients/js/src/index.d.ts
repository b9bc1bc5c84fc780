/** As JSON has it: a value, whole numbers (MRR), hexadecimal digits (SS, SUE, OUE), [seed, bucket] (OLH). */
export type Report = number | number[] | string | [string, number];
/** As JSON has it: a whole number, a list of them (MRR), hexadecimal digits (SUE, OUE). */
export type Card = number | number[] | string;
export type View = "report" | "everything" | "dealer";

/** Parameters as `Mechanism.to_dict()` of the Python package writes them. */
export type Mechanism = {
  mechanism: "RR" | "JRR" | "DRR" | "MRR" | "SS" | "SUE" | "OUE" | "OLH" | "Laplace" | "MaskedLaplace";
  /** Of numbers in steps (Laplace, MaskedLaplace) there is none. */
  k?: number;
} & Record<string, unknown>;

export interface Campaign {
  readonly bytes: Uint8Array;
  readonly hash: string;
  readonly question: string;
  readonly labels: readonly string[];
  /** The ends between which an answer lies that is a number; null where it is one of the labels. */
  readonly number: readonly [number, number] | null;
  readonly consent: string;
  /** Who asks, and whom to ask; null where the campaign does not say. */
  readonly by: string | null;
  readonly contact: string | null;
  readonly covariates: Readonly<Record<string, readonly string[]>>;
  readonly mechanism: Mechanism;
  readonly dealers: readonly { url: string; role: string }[];
  readonly collector: string;
  readonly invitations: boolean;
  readonly byCommittee: boolean;
  readonly mayLeaveOut: boolean;
  readonly announces: boolean;
  /** Whether people enrol first, and come back when cards are dealt to those who did. */
  readonly enrols: boolean;
  readonly capacity: number;
  readonly guarantees: Readonly<Record<string, unknown>>;
  readonly opens: string | null;
  readonly closes: string | null;
  readonly losses: Record<View, number>;
}

/** One thing that a survey asks; texts by language. */
export interface Item {
  readonly name: string;
  readonly kind: "yes-no" | "choice" | "several" | "scale" | "number";
  readonly text: Readonly<Record<string, string>>;
  readonly labels?: readonly Readonly<Record<string, string>>[];
  readonly low?: number;
  readonly high?: number;
  /** Changed on this device; an open one is sent as it is. */
  readonly sensitive: boolean;
  readonly prefer_not: boolean;
  /** Open items, and the answers of which it is asked. */
  readonly only_if?: Readonly<Record<string, readonly string[]>>;
}

export interface Questionnaire {
  readonly title: Readonly<Record<string, string>>;
  readonly languages: readonly string[];
  readonly items: readonly Item[];
  /** Of one wave. */
  readonly epsilon: number;
  readonly split: string;
  /** How often the same people are asked. */
  readonly waves: number;
}

/** One perturbed answer: to an item, or to one label of "several". */
export interface Part {
  readonly name: string;
  readonly item: Item;
  readonly label: number | null;
  readonly campaign: Omit<Campaign, "bytes" | "hash"> & { bytes: null; hash: null };
}

/** What waves lose: ε to the collector at δ, and ε to dealers and collector together. */
export interface WaveLoss {
  readonly everything: number;
  readonly delta: number;
  readonly dealer: number;
}

/** What all waves lose at most, and what those before this one have lost. */
export interface Study {
  readonly promised: WaveLoss;
  readonly earlier: readonly { readonly survey: string; readonly loss: WaveLoss }[];
}

export interface Survey {
  readonly bytes: Uint8Array;
  readonly hash: string;
  readonly questionnaire: Questionnaire;
  readonly parts: readonly Part[];
  /** By language. */
  readonly consent: Readonly<Record<string, string>>;
  readonly guarantees: Readonly<Record<string, unknown>>;
  readonly study: Study;
  readonly panel: string | null;
  readonly wave: number;
  readonly collector: string;
  readonly invitations: boolean;
  readonly dealers: readonly { url: string; role: string }[];
  readonly mayLeaveOut: boolean;
  readonly opens: string | null;
  readonly closes: string | null;
}

/** A label ("no" or "yes"), a number, labels of "several"; null: prefer not to say. */
export type Answer = string | number | readonly string[] | null;
export type Answers = Record<string, Answer>;

/** Texts by key. */
export interface Storage {
  get(key: string): Promise<string | undefined>;
  /** Every value whose key begins so. */
  list(prefix: string): Promise<string[]>;
  /** Keeps the first value; resolves to what is kept. */
  add(key: string, value: string): Promise<string>;
  put(key: string, value: string): Promise<void>;
  /** As `add`, unless `check`, given `list(prefix)`, throws; nobody else writes meanwhile. */
  addChecked(
    prefix: string,
    key: string,
    value: string,
    check: (kept: string[]) => void,
  ): Promise<string>;
}

export interface Receipt {
  /** Exactly what was sent. */
  body: string;
  /** Whether the collector had it already. */
  before: boolean;
}

export interface ContributorOptions {
  /** The most ε that the campaign may cost. */
  limit: number;
  /** The most ε that it may cost together with all answers in this device's ledger; any by default. */
  totalLimit?: number;
  /** Where finished reports and the device's secrets are kept. */
  storage: Storage;
  /** Of a campaign that needs one. */
  invitation?: string;
  /** Seconds to wait for a card, and for the collector. */
  patience?: number;
  fetch?: typeof fetch;
  /** Random words of 64 bits; the system's by default. For tests. */
  words?: (count: number) => bigint[];
}

export class Contributor {
  constructor(link: string, options: ContributorOptions);
  campaign(): Promise<Campaign>;
  status(): Promise<{ state: string; n: number | null }>;
  checkReady(): Promise<void>;
  /** Refuses where the collector takes no answers now. */
  checkOpen(): Promise<void>;
  /** Throws ProtocolError where the campaign does not enrol, enrolment is over, or a dealer refuses. */
  enrol(): Promise<void>;
  enrolled(): Promise<boolean>;
  spent(): Promise<{ answers: number; epsilon: number }>;
  before(): Promise<{ body: string; sent: boolean } | null>;
  resume(): Promise<Receipt | null>;
  /**
   * `answer`: the place among the labels, 0..k-1; a number where the campaign asks for one
   * (`campaign.number`). `covariates`: exactly those of the campaign. Throws UnreachableError where
   * the collector does not answer; the report is kept for another try.
   */
  answer(
    answer: number,
    options?: { covariates?: Record<string, string> },
  ): Promise<Receipt>;
}

export class SurveyContributor {
  constructor(link: string, options: ContributorOptions);
  survey(): Promise<Survey>;
  status(): Promise<{ state: string }>;
  checkReady(): Promise<void>;
  /** Refuses where the collector takes no answers now. */
  checkOpen(): Promise<void>;
  spent(): Promise<{ answers: number; epsilon: number }>;
  before(): Promise<{ body: string; sent: boolean } | null>;
  resume(): Promise<Receipt | null>;
  /**
   * Of exactly the items that are asked: item -> a label (open items: in the first language), a
   * number, a list of labels of "several"; null for "prefer not to say". Throws UnreachableError
   * where the collector does not answer; the upload is kept for another try.
   */
  answer(answers: Answers): Promise<Receipt>;
}

export class Outbox {
  constructor(storage: Storage);
  find(campaign: string, name: string): Promise<{ body: string; sent: boolean } | null>;
  keep(campaign: string, name: string, body: string): Promise<{ body: string; sent: boolean }>;
  markSent(campaign: string, name: string, body: string): Promise<void>;
  noteSeat(campaign: string, person: string): Promise<void>;
  hasSeat(campaign: string, person: string): Promise<boolean>;
  secret(purpose: string, fresh: string): Promise<string>;
}

export interface Expense {
  campaign: string;
  person: string;
  epsilon: number;
  view: View;
}

/** What answers have cost on this device. */
export class Ledger {
  constructor(storage: Storage);
  entries(): Promise<Expense[]>;
  spent(): Promise<{ answers: number; epsilon: number }>;
  enter(entry: Expense, check?: (before: Expense[]) => void): Promise<void>;
}

export class MemoryStorage implements Storage {
  get(key: string): Promise<string | undefined>;
  list(prefix: string): Promise<string[]>;
  add(key: string, value: string): Promise<string>;
  put(key: string, value: string): Promise<void>;
  addChecked(
    prefix: string,
    key: string,
    value: string,
    check: (kept: string[]) => void,
  ): Promise<string>;
}

export class IndexedDbStorage implements Storage {
  constructor(name?: string);
  get(key: string): Promise<string | undefined>;
  list(prefix: string): Promise<string[]>;
  add(key: string, value: string): Promise<string>;
  put(key: string, value: string): Promise<void>;
  addChecked(
    prefix: string,
    key: string,
    value: string,
    check: (kept: string[]) => void,
  ): Promise<string>;
}

export class JrrError extends Error {
  readonly kind: string;
}
export class ArgumentError extends JrrError {}
export class DamagedError extends JrrError {}
export class ProtocolError extends JrrError {
  /** True where the collector has seen the report that it refused. */
  posted?: boolean;
}
export class UnreachableError extends JrrError {}
export class UnsupportedError extends JrrError {}

export function cost(campaign: Campaign): { epsilon: number; view: View };
export function forPeople(campaign: Campaign, n: number, who?: string): Mechanism;
export function hashOf(bytes: Uint8Array): Promise<string>;
/**
 * Throws DamagedError for what is none or not in canonical form, UnsupportedError for what this
 * client does not speak yet, ProtocolError for what promises less than what holds.
 */
export function readCampaign(bytes: Uint8Array): Promise<Campaign>;
/** As `readCampaign`, of a survey: every part, and all of them together. */
export function readSurvey(bytes: Uint8Array): Promise<Survey>;
export function isSurveyLink(link: string): boolean;
export function isAsked(questionnaire: Questionnaire, item: Item, open: Answers): boolean;
export function askedItems(survey: Survey, open: Answers): Item[];
export function askedParts(survey: Survey, open: Answers): Part[];
/** Open answers of exactly the open items that were shown: "no" or "yes", labels of the first language, numbers, null. */
export function checkOpenAnswers(questionnaire: Questionnaire, given: Answers): Answers;
/**
 * What one adversary learns at most; `belief`: what a guess of 10% can become, rounded up;
 * `people`: the same, of 100 people who sent the same.
 */
export interface Cost {
  readonly epsilon: number;
  readonly delta: number;
  readonly view: View;
  readonly belief: number;
  readonly people: number;
}
export interface CostRow {
  readonly collector: Cost;
  readonly together: Cost;
}
export interface CostTable {
  /** The question that tells most, all answers of this wave, all waves. */
  readonly answer: CostRow;
  readonly wave: CostRow;
  readonly study: CostRow;
  readonly questions: number;
  readonly waves: number;
  /** Those that say different things, by name: `answer`, `wave`, `study` or, of one wave, `all`. */
  readonly rows: Readonly<Record<string, CostRow>>;
  /** Whether the two adversaries differ. */
  readonly deals: boolean;
}
export function belief(epsilon: number): number;
/** What one answer, this wave and the whole study tell the collector, alone and with the dealers. */
export function costTable(document: Survey | Campaign): CostTable;
export function surveyCost(survey: Survey, parts?: readonly Part[]): { epsilon: number; view: View };
/** All answers of a person as they are sent. */
export function uploadOf(
  survey: Survey,
  answers: Answers,
  options: {
    name: string;
    hands: Hands | (() => Promise<Hands>);
    words?: (count: number) => bigint[];
  },
): Promise<{ document: Record<string, unknown>; asked: Part[] }>;
/** By the names of the parts. */
export type Hands = Record<string, { card: Card | null; serials?: (string | null)[] }>;
export function splitLink(link: string, kind?: "campaigns" | "surveys"): { collector: string; name: string };
export function canonicalJson(document: unknown, options?: { fractions?: boolean }): string;
export function readCanonical(text: string): unknown;
export function checkLetters(plain: string): string;
export function invitationSecret(invitation: string): Uint8Array;
export function pseudonym(secret: Uint8Array, campaign: string, role: string): Promise<string>;
export function losses(mechanism: Mechanism): Record<View, number>;
/** Chances that a report speaks for value v: `p` if it is the answer, `q` if it is not. */
export function chances(mechanism: Mechanism, v: number, carded?: boolean): { p: number; q: number };
export function checkCard(mechanism: Mechanism, card: unknown): Card;
export function checkMechanism(document: unknown): Mechanism;
export function deals(mechanism: Mechanism): boolean;
/**
 * `value`: the true answer, 0..k-1; of a number in steps 0..steps. `card`: as the dealer gave it, of
 * several dealers a list of theirs, null where there is none.
 */
export function reportFromWords(
  mechanism: Mechanism,
  value: number,
  card: Card | Card[] | null,
  words: bigint[],
): Report;
export function respond(mechanism: Mechanism, value: number, card?: Card | Card[] | null): Report;
/** The step that a random word makes of a number between two ends; with one, 0 or 1. */
export function roundedNumber(
  ends: readonly [number, number],
  number: number,
  word: bigint,
  steps?: number,
): number;
/** How much a report speaks for each value. */
export function supports(mechanism: Mechanism, report: Report): number[];
/** How many random words a report takes, but for rare ties. */
export function wordsNeeded(mechanism: Mechanism): number;
