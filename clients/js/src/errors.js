// What can go wrong. `kind` is a word for programs and catalogues of texts; messages are for
// developers, and never repeat an answer, an invitation or a card.

export class JrrError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = new.target.name;
    this.kind = kind;
  }
}

/** An argument is not what it should be. */
export class ArgumentError extends JrrError {}

/** A document or a reply is not what it should be. */
export class DamagedError extends JrrError {}

/** A server refuses, or serves something else than it should. */
export class ProtocolError extends JrrError {}

/** A server does not answer; what was saved can be sent later. */
export class UnreachableError extends JrrError {}

/** Something of the protocol that this client does not speak yet. */
export class UnsupportedError extends JrrError {}
