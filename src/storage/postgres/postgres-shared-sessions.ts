import type { PostgresConnection } from './postgres-connection.ts';

export interface SharedSessionsOptions {
  /** Borrows a connection until `use` is done. */
  readonly lend: (use: (connection: PostgresConnection) => Promise<void>) => Promise<void>;
  /** A session that has answered nothing for this long is closed. */
  readonly silenceMsMax: number;
}

type Question<Answer> = (connection: PostgresConnection) => Promise<Answer>;

interface Asked {
  readonly question: Question<unknown>;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Whether the question was asked once more, on another connection. */
  hasMoved: boolean;
}

/** A borrowed connection, for as long as it has questions to answer. */
interface Session {
  readonly timeoutMs: number;
  /** The questions without an answer, in their order. */
  readonly waiting: Asked[];
  connection: PostgresConnection | undefined;
  answered: number;
  isStalled: boolean;
  end: () => void;
}

/** Questions on one session at a time. Four save most of the cost of packets and wake-ups; more would wait while others are free. */
const waitingMax = 4;
/** Questions after which a session goes back to the pool, which deallocates its old statements. */
const askedMax = 100;
/** Far longer than even a busy server takes to answer four quick questions: asking them again would only add to its load. */
const LOOK_MS = 250;

/**
 * Pipelines questions on shared connections: those of one turn go out in one packet, and their answers often come in one. A question
 * behind another that takes longer than one or two times {@link LOOK_MS} is asked again on a connection of its own, so that a slow
 * search holds up nobody.
 */
export class SharedSessions {
  readonly #options: SharedSessionsOptions;
  readonly #open: Session[] = [];

  constructor(options: SharedSessionsOptions) {
    this.#options = options;
  }

  /** Asks a question, which must change nothing, as it may be asked twice. `timeoutMs` is how long its statement may take. */
  ask<Answer>(question: Question<Answer>, timeoutMs: number): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const isOpen = (one: Session): boolean =>
        one.timeoutMs === timeoutMs &&
        !one.isStalled &&
        one.connection?.isLost !== true &&
        one.waiting.length < waitingMax &&
        one.answered + one.waiting.length < askedMax;
      const session = this.#open.find(isOpen) ?? this.#begin(timeoutMs);
      // `resolve` is given only what this question was answered.
      const told = resolve as (answer: unknown) => void;
      const asked: Asked = { question, resolve: told, reject, hasMoved: false };
      session.waiting.push(asked);
      if (session.connection !== undefined) this.#send(session, session.connection, asked);
    });
  }

  #begin(timeoutMs: number): Session {
    const session: Session = {
      timeoutMs,
      waiting: [],
      connection: undefined,
      answered: 0,
      isStalled: false,
      end: () => undefined,
    };
    this.#open.push(session);
    const use = async (connection: PostgresConnection): Promise<void> => {
      const ended = new Promise<void>((resolve) => (session.end = resolve));
      session.connection = connection;
      connection.limitStatements(timeoutMs);
      const watch = this.#watch(session, connection);
      for (const asked of session.waiting) this.#send(session, connection, asked);
      await ended;
      clearInterval(watch);
    };
    this.#options.lend(use).catch((error: unknown) => {
      this.#forget(session);
      for (const { reject } of session.waiting.splice(0)) reject(error);
    });
    return session;
  }

  #send(session: Session, connection: PostgresConnection, asked: Asked): void {
    asked.question(connection).then(
      (answer) => {
        this.#leave(session, asked);
        asked.resolve(answer);
      },
      (error: unknown) => {
        this.#leave(session, asked);
        if (!asked.hasMoved) asked.reject(error);
      },
    );
  }

  #leave(session: Session, asked: Asked): void {
    const { waiting } = session;
    waiting.splice(waiting.indexOf(asked), 1);
    session.answered += 1;
    if (waiting.length > 0) return;
    this.#forget(session);
    session.end();
  }

  #watch(session: Session, connection: PostgresConnection): NodeJS.Timeout {
    let seen = 0;
    let silenceMs = 0;
    return setInterval(() => {
      silenceMs = session.answered === seen ? silenceMs + LOOK_MS : 0;
      seen = session.answered;
      if (silenceMs === 0) return;
      session.isStalled = true;
      for (const asked of session.waiting.slice(1)) this.#move(asked, session.timeoutMs);
      if (silenceMs > this.#options.silenceMsMax) connection.close();
    }, LOOK_MS);
  }

  #move(asked: Asked, timeoutMs: number): void {
    if (asked.hasMoved) return;
    asked.hasMoved = true;
    const { question, resolve, reject } = asked;
    this.#options
      .lend(async (connection) => {
        connection.limitStatements(timeoutMs);
        const timer = connection.expireAfter(this.#options.silenceMsMax);
        await question(connection)
          .then(resolve, reject)
          .finally(() => clearTimeout(timer));
      })
      .catch(reject);
  }

  #forget(session: Session): void {
    const index = this.#open.indexOf(session);
    if (index !== -1) this.#open.splice(index, 1);
  }
}
