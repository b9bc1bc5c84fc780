export type Report = number | number[];
export type Card = number | number[];
export type View = "report" | "everything" | "dealer";

/** Parameters as `Mechanism.to_dict()` of the Python package writes them. */
export type Mechanism = { mechanism: "RR" | "JRR" | "DRR" | "MRR"; k: number } & Record<string, unknown>;

export interface Campaign {
  readonly bytes: Uint8Array;
  readonly version: number;
  readonly hash: string;
  readonly question: string;
  readonly labels: readonly string[];
  readonly consent: string;
  readonly covariates: Readonly<Record<string, readonly string[]>>;
  readonly mechanism: Mechanism;
  readonly rounds: number;
  readonly dealers: readonly { url: string; role: string }[];
  readonly collector: string;
  readonly invitations: boolean;
  readonly mayLeaveOut: boolean;
  readonly announces: boolean;
  readonly opens: string | null;
  readonly closes: string | null;
  readonly losses: Record<View, number>;
}

/** Texts by key; `add` keeps the first value and resolves to what is kept. */
export interface Storage {
  get(key: string): Promise<string | undefined>;
  add(key: string, value: string): Promise<string>;
  put(key: string, value: string): Promise<void>;
}

export interface Receipt {
  /** Exactly what was sent. */
  body: string;
  /** Whether the collector had it already. */
  before: boolean;
}

export interface ContributorOptions {
  /** The most ε that an answer may cost. */
  limit: number;
  storage: Storage;
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
  checkReady(): Promise<void>;
  before(round?: number): Promise<{ body: string; sent: boolean } | null>;
  resume(round?: number): Promise<Receipt | null>;
  answer(
    value: number,
    options?: { covariates?: Record<string, string>; round?: number },
  ): Promise<Receipt>;
}

export class Outbox {
  constructor(storage: Storage);
  find(campaign: string, name: string): Promise<{ body: string; sent: boolean } | null>;
  keep(campaign: string, name: string, body: string): Promise<{ body: string; sent: boolean }>;
  markSent(campaign: string, name: string, body: string): Promise<void>;
  secret(purpose: string, fresh: string): Promise<string>;
}

export class MemoryStorage implements Storage {
  get(key: string): Promise<string | undefined>;
  add(key: string, value: string): Promise<string>;
  put(key: string, value: string): Promise<void>;
}

export class IndexedDbStorage implements Storage {
  constructor(name?: string);
  get(key: string): Promise<string | undefined>;
  add(key: string, value: string): Promise<string>;
  put(key: string, value: string): Promise<void>;
}

export class JrrError extends Error {
  readonly kind: string;
}
export class ArgumentError extends JrrError {}
export class DamagedError extends JrrError {}
export class ProtocolError extends JrrError {}
export class UnreachableError extends JrrError {}
export class UnsupportedError extends JrrError {}

export function cost(campaign: Campaign): { epsilon: number; view: View };
export function hashOf(bytes: Uint8Array): Promise<string>;
export function readCampaign(bytes: Uint8Array): Promise<Campaign>;
export function splitLink(link: string): { collector: string; name: string };
export function canonicalJson(document: unknown): string;
export function readCanonical(text: string): unknown;
export function checkLetters(plain: string): string;
export function collectorRole(round: number): string;
export function invitationSecret(invitation: string): Uint8Array;
export function pseudonym(secret: Uint8Array, campaign: string, role: string): Promise<string>;
export function losses(mechanism: Mechanism): Record<View, number>;
export function checkCard(mechanism: Mechanism, card: unknown): Card;
export function checkMechanism(document: unknown): Mechanism;
export function reportFromWords(
  mechanism: Mechanism,
  value: number,
  card: Card | Card[] | null,
  words: bigint[],
): Report;
export function respond(mechanism: Mechanism, value: number, card?: Card | Card[] | null): Report;
export function wordsNeeded(mechanism: Mechanism): number;
