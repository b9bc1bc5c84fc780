/** As JSON has it: a value, whole numbers (MRR), hexadecimal digits (SS, SUE, OUE), [seed, bucket] (OLH). */
export type Report = number | number[] | string | [string, number];
/** As JSON has it: a whole number, a list of them (MRR), hexadecimal digits (SUE, OUE). */
export type Card = number | number[] | string;
export type View = "report" | "everything" | "dealer";

/** Parameters as `Mechanism.to_dict()` of the Python package writes them. */
export type Mechanism = {
  mechanism: "RR" | "JRR" | "DRR" | "MRR" | "SS" | "SUE" | "OUE" | "OLH" | "Piecewise";
  /** Of numbers told without cards in steps (Piecewise) there is none. */
  k?: number;
} & Record<string, unknown>;

/** One thing that a survey asks; texts by language. */
export interface Question {
  readonly name: string;
  readonly kind: "yes-no" | "choice" | "several" | "scale" | "number";
  readonly text: Readonly<Record<string, string>>;
  readonly labels?: readonly Readonly<Record<string, string>>[];
  readonly low?: number;
  readonly high?: number;
  /** Changed on this device; an open one is sent as it is. */
  readonly sensitive: boolean;
  readonly prefer_not?: boolean;
  /** Of "number": its ends stand for all below, or above, too. */
  readonly or_less?: boolean;
  readonly or_more?: boolean;
  /** What is read above the question, by language. */
  readonly section?: Readonly<Record<string, string>>;
  /** Open questions, and the answers of which it is asked. */
  readonly only_if?: Readonly<Record<string, readonly string[]>>;
  readonly crossed?: readonly (readonly [string, number])[];
  /** Of a sensitive one. */
  readonly mechanism?: Mechanism;
}

/** One perturbed answer: to a sensitive question, or to one label of "several". */
export interface SensitiveAnswer {
  readonly name: string;
  readonly question: Question;
  readonly label: number | null;
  readonly mechanism: Mechanism;
  /** The promised ε in the view "everything". */
  readonly everything: number;
  readonly losses: Record<View, number>;
}

/** Who deals the cards. */
export interface Dealing {
  readonly dealers: readonly { url: string; role: string }[];
  readonly mayLeaveOut: boolean;
  /** Whether people enrol first, and come back when cards are dealt to those who did. */
  readonly enrols: boolean;
  /** Whether parties of a committee deal together. */
  readonly together: boolean;
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
  readonly title: Readonly<Record<string, string>>;
  readonly languages: readonly string[];
  /** Who asks, and whom to ask, by language; null where the survey does not say. */
  readonly by: Readonly<Record<string, string>> | null;
  readonly contact: Readonly<Record<string, string>> | null;
  readonly questions: readonly Question[];
  readonly sensitive: readonly SensitiveAnswer[];
  /** Questions whose answers share a coin; each person is asked `ask` of them. */
  readonly together: readonly { questions: readonly string[]; ask: number; keep: number; alone: number }[];
  /** By language; in each stands `{cost}` once, to be filled with what `costTable` says. */
  readonly consent: Readonly<Record<string, string>>;
  /** View -> ε of all answers together. */
  readonly guarantees: Readonly<Record<string, number>>;
  readonly study: Study;
  readonly panel: string | null;
  readonly wave: number;
  /** How often the same people are asked. */
  readonly waves: number;
  readonly collector: string;
  readonly capacity: number;
  readonly invitations: boolean;
  readonly dealing: Dealing;
  readonly opens: string | null;
  readonly closes: string | null;
  readonly keep_days: number | null;
  /** A small PNG in base64. */
  readonly logo: string | null;
  /** A test: people are told so. */
  readonly pilot: boolean;
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
  remove(key: string): Promise<void>;
  /** As `add`, unless `check`, given `list(prefix)`, throws; nobody else writes meanwhile. */
  addChecked(
    prefix: string,
    key: string,
    value: string,
    check: (kept: string[]) => void,
  ): Promise<string>;
}

export interface Receipt {
  /** Exactly what was sent; null where that was earlier: nothing of it is kept. */
  body: string | null;
  /** Whether the collector had it already. */
  before: boolean;
}

export interface ContributorOptions {
  /** The most ε that all answers may cost together. */
  limit: number;
  /** The most ε that it may cost together with all answers in this device's ledger; any by default. */
  totalLimit?: number;
  /** Where finished uploads and the device's secrets are kept. */
  storage: Storage;
  /** Of a survey that needs one. */
  invitation?: string;
  /** Seconds to wait for a card, and for the collector. */
  patience?: number;
  fetch?: typeof fetch;
  /** Random words of 64 bits; the system's by default. For tests. */
  words?: (count: number) => bigint[];
}

export class Contributor {
  constructor(link: string, options: ContributorOptions);
  survey(): Promise<Survey>;
  status(): Promise<{ state: string; n: number | null; closes: string | null }>;
  checkReady(): Promise<void>;
  /** Refuses an invitation that another device began with (`other-device`), where sums of cards are announced. */
  takePlace(): Promise<void>;
  /** Refuses where the collector takes no answers now. */
  checkOpen(): Promise<void>;
  /** Throws ProtocolError where nobody enrols, enrolment is over, or a dealer refuses. */
  enrol(): Promise<void>;
  enrolled(): Promise<boolean>;
  spent(): Promise<{ answers: number; epsilon: number }>;
  before(): Promise<Kept | null>;
  resume(): Promise<Receipt | null>;
  /**
   * Of exactly the questions that are asked: question -> a label (open ones: in the first language),
   * a number, a list of labels of "several"; null for "prefer not to say". Throws UnreachableError
   * where the collector does not answer; the upload is kept for another try.
   */
  answer(answers: Answers): Promise<Receipt>;
}

/** An upload that waits, or that it was sent. */
export type Kept = { sent: false; body: string } | { sent: true; body?: undefined };

export class Outbox {
  constructor(storage: Storage);
  find(survey: string, kept: string): Promise<Kept | null>;
  keep(survey: string, kept: string, body: string): Promise<Kept>;
  forget(survey: string, kept: string, person: string, purposes: string[]): Promise<void>;
  noteSeat(survey: string, person: string): Promise<void>;
  hasSeat(survey: string, person: string): Promise<boolean>;
  secret(purpose: string, fresh: string): Promise<string>;
}

export interface Expense {
  survey: string;
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
  remove(key: string): Promise<void>;
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
  remove(key: string): Promise<void>;
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

/** The mechanism of an answer for as many people as enrolled. */
export function forPeople(survey: Survey, answer: SensitiveAnswer, n: number | null, who?: string): Mechanism;
export function hashOf(bytes: Uint8Array): Promise<string>;
/**
 * Throws DamagedError for what is none or not in canonical form, UnsupportedError for what this
 * client does not speak yet, ProtocolError for what promises less than what holds.
 */
export function readSurvey(bytes: Uint8Array): Promise<Survey>;
export function isAsked(survey: Pick<Survey, "questions">, question: Question, open: Answers): boolean;
/** `leftOut`: the names of questions that are not for this person, as `notAsked` returns them. */
export function askedQuestions(survey: Survey, open: Answers, leftOut?: ReadonlySet<string>): Question[];
export function askedAnswers(survey: Survey, open: Answers, leftOut?: ReadonlySet<string>): SensitiveAnswer[];
/** Names of questions that are not for the person with this name at the collector (64 hexadecimal digits). */
export function notAsked(survey: Pick<Survey, "hash" | "together">, person: string): Promise<Set<string>>;
/** Open answers of exactly the open questions that were shown: "no" or "yes", labels of the first language, numbers, null. */
export function checkOpenAnswers(survey: Pick<Survey, "questions" | "languages">, given: Answers): Answers;
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
export function costTable(survey: Survey): CostTable;
export function surveyCost(survey: Survey, answers?: readonly SensitiveAnswer[]): { epsilon: number; view: View };
/** All answers of a person as they are sent. */
export function uploadOf(
  survey: Survey,
  answers: Answers,
  options: {
    name: string;
    cards: Cards | (() => Promise<Cards>);
    words?: (count: number) => bigint[];
  },
): Promise<{ document: Record<string, unknown>; asked: SensitiveAnswer[] }>;
/** By the names of the answers; `n`: for how many people, where people enrol. */
export type Cards = {
  n: number | null;
  cards: Record<string, { card: Card; serials?: (string | null)[] }>;
};
export function splitLink(link: string): { collector: string; name: string };
export function canonicalJson(document: unknown, options?: { fractions?: boolean }): string;
export function readCanonical(text: string): unknown;
export function checkLetters(plain: string): string;
/** The role from which the pseudonym at the collector follows. */
export const COLLECTOR: string;
export function invitationSecret(invitation: string): Uint8Array;
export function pseudonym(secret: Uint8Array, survey: string, role: string): Promise<string>;
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

// Telemetry: documents as `to_dict()` of the Python package writes them, reports as lines of JSON.

/** The next random word of 64 bits. */
export type NextWord = () => bigint;
/** A report; where cards are dealt, also whether there was one. */
export type Line = Report | { carded: boolean; report: Report };

/** Rounds of reports by the same device, which may remember a permanent response to each value. */
export class Longitudinal {
  constructor(document: unknown);
  readonly document: Record<string, unknown>;
  readonly fresh: Mechanism;
  readonly permanent: Mechanism | null;
  readonly k: number;
  /** Drawn once, to be kept on the device: a response to each value. */
  remember(next?: NextWord): number[];
  respond(value: number, memory: readonly number[], card?: Card | null, next?: NextWord): Line;
}

/** A search for frequent strings that nobody listed. */
export class HeavyHitters {
  constructor(document: unknown);
  readonly document: Record<string, unknown>;
  readonly levels: readonly number[];
  /** [level, [seed, bucket]] */
  respond(string: string, next?: NextWord): [number, [string, number]];
}

/** A number by ranges of several widths. */
export class RangeTree {
  constructor(document: unknown);
  readonly document: Record<string, unknown>;
  readonly low: number;
  readonly high: number;
  readonly bins: number;
  readonly mechanisms: readonly Mechanism[];
  /** [level, report]; `dealt`: the card of a level whose group is dealt cards. */
  respond(number: number, dealt?: { level: number; card: Card | null } | null, next?: NextWord): [number, Line];
}

/** The mean of a number between two ends, which is rounded by chance and perturbed. */
export class Numbers {
  constructor(document: unknown);
  readonly document: Record<string, unknown>;
  readonly low: number;
  readonly high: number;
  readonly clip: boolean;
  readonly mechanism: Mechanism;
  respond(number: number, card?: Card | null, next?: NextWord): Line;
}

/** A report by a mechanism as a line; `value` and `card` as for `respond`. */
export function lineOf(mechanism: Mechanism, value: number, card?: Card | Card[] | null, next?: NextWord): Line;

export type Asked = Longitudinal | HeavyHitters | RangeTree | Numbers | Mechanism;
/** What a header or a document asks for; it is checked. Of a document that is typed in, its kind. */
export function readAsked(document: Mechanism): Mechanism;
export function readAsked(document: unknown): Asked;
/** The first line of a file of reports. */
export function headerLine(asked: Asked): string;
