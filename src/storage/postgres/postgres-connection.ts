import { Buffer } from 'node:buffer';
import type { PoolClient, QueryArrayConfig, types } from 'pg';
import { assert } from '../../base/assert.ts';
import { GenerationMap } from '../../base/generation-map.ts';
import type { Sql, SqlValue } from '../../sql/sql.ts';
import { answerBytesMax, answerTooLarge } from '../answer-too-large.ts';
import type { CopyQuery } from './copy-query.ts';
import type { Row, Tuple } from '../database.ts';
import { endsSession, isStaleStatement, toPostgresError } from './postgres-errors.ts';
import { numberPlaceholders } from './postgres-placeholders.ts';
import { StatementNames } from './postgres-statements.ts';

/** Of statements a generation, in characters, and what each takes beside its text. */
const configsLengthMax = 2 * 1024 * 1024;
const configLength = 4_096;
/** Of commands a generation: there are a few, and short ones. */
const commandsMax = 256;

export interface Answer<Shape> {
  readonly rows: readonly Shape[];
  readonly changed: number;
  readonly command: string;
}

/**
 * One session: statements are sent as they are asked for and answered in order, those of one turn in one packet. A session whose
 * transaction or whose answers are in doubt is closed, never used again.
 */
export class PostgresConnection {
  readonly #client: PoolClient;
  readonly #names: StatementNames;
  readonly #types = boundedTypes();
  /** By the names of statements, which mean one text each. */
  readonly #configs = new GenerationMap<string, QueryArrayConfig>(
    configsLengthMax,
    ({ text }) => text.length + configLength,
  );
  #isLost = false;
  #isCorked = false;
  #asked = 0;
  #warnings = 0;
  #timeoutMs: number;

  /** `timeoutMs` is what the session begins with. */
  constructor(
    client: PoolClient,
    { statementsMax, timeoutMs }: { readonly statementsMax: number; readonly timeoutMs: number },
  ) {
    this.#client = client;
    this.#names = new StatementNames(statementsMax);
    this.#timeoutMs = timeoutMs;
    // Without a listener the loss of a lent connection would end the process.
    client.on('error', () => {
      this.#isLost = true;
    });
    client.on('end', () => {
      this.#isLost = true;
    });
    client.on('notice', ({ code }) => {
      if (code?.startsWith(WARNING_CLASS) === true) this.#warnings += 1;
    });
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** How often the server has warned: what it warns of comes before the answer to the statement. */
  get warnings(): number {
    return this.#warnings;
  }

  /** Whether the next borrower finds it as if new. */
  get isReusable(): boolean {
    const isIdle = this.#asked === 0 && this.#client.getTransactionStatus() === 'I';
    return !this.#isLost && isIdle && !this.#names.isExhausted;
  }

  rows(statement: Sql): Promise<Answer<Row>> {
    return this.#ask(statement, false);
  }

  tuples(statement: Sql): Promise<Answer<Tuple>> {
    return this.#ask(statement, true);
  }

  /** Statements of ours without values, by the simple protocol: as many of them as there are semicolons. */
  command(text: string): Promise<Answer<Row>> {
    return this.#send(commandConfig(text), []);
  }

  copy(query: CopyQuery): Promise<Answer<Row>> {
    return this.#send(query, []);
  }

  /** What is asked with commands around it, in one packet; the last is run whatever becomes of it. */
  async between<Shape>(
    before: string,
    ask: () => Promise<Answer<Shape>>,
    after: string,
  ): Promise<Answer<Shape>> {
    const steps = [this.command(before), ask(), this.command(after)] as const;
    await Promise.allSettled(steps);
    const [, answer] = await Promise.all(steps);
    return answer;
  }

  /** How long each statement may take from now on; outside of transactions. Goes out with the next one, and only where it changes. */
  limitStatements(timeoutMs: number): void {
    if (timeoutMs === this.#timeoutMs) return;
    assert(Number.isInteger(timeoutMs), 'whole milliseconds');
    this.#timeoutMs = timeoutMs;
    // It fails only with the session, which the next statement will tell.
    this.command(`SET statement_timeout = ${timeoutMs}`).catch(() => this.close());
  }

  /** Ends the session when it is not done in time, so that a network that swallows packets cannot hold anybody. */
  expireAfter(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.close(), delayMs);
  }

  /** At once: whoever waits for an answer gets an error. */
  close(): void {
    this.#isLost = true;
    this.#client.connection.stream.destroy();
  }

  /** Called when nobody uses it. */
  forgetOldStatements(): void {
    const dropped = this.#names.takeDropped();
    if (dropped.length === 0) return;
    const text = dropped.map((name) => `DEALLOCATE ${name}`).join(';');
    // Sent, not awaited: the next borrower's statements queue behind it. When it fails the session has ended, or is closed later.
    this.command(text).catch(() => this.close());
  }

  async #ask<Shape>(statement: Sql, isArray: boolean): Promise<Answer<Shape>> {
    const prepared = this.#names.nameOf(statement.text);
    try {
      const config = this.#configOf(statement, { name: prepared, isArray });
      const answer = await this.#send<Shape>(config, statement.values);
      if (prepared !== undefined) this.#names.noteSuccess(statement.text);
      return answer;
    } catch (error) {
      if (prepared !== undefined && isStaleStatement(error)) this.#names.forget(statement.text);
      throw error;
    }
  }

  #configOf(
    { text }: Sql,
    asked: { readonly name: string | undefined; readonly isArray: boolean },
  ): QueryArrayConfig {
    const { name, isArray } = asked;
    const numbered = numberPlaceholders(text);
    // pg's types know of one mode only; any other value means rows as objects.
    if (!isArray) return { text: numbered, name, rowMode: undefined as unknown as 'array' };
    const types = this.#types;
    if (name === undefined) return { text: numbered, name, rowMode: 'array', types };
    return this.#configs.findOrAdd(name, () => reusable({ text: numbered, name, rowMode: 'array', types }));
  }

  #send<Shape>(config: QueryArrayConfig | CopyQuery, values: readonly SqlValue[]): Promise<Answer<Shape>> {
    this.#cork();
    this.#asked += 1;
    return new Promise((resolve, reject) => {
      // pg's declarations know of values only behind a text.
      const given = config as unknown as string;
      // It reads them when it sends them and keeps nothing.
      const sent = values as SqlValue[];
      this.#client.query(given, sent, (error: Error | null, result) => {
        this.#asked -= 1;
        if (error) {
          if (endsSession(error)) this.#isLost = true;
          reject(toPostgresError(error));
          return;
        }
        // Several statements at once have several results, which nobody asks for.
        const rows = (result.rows ?? []) as unknown[] as Shape[];
        resolve({ rows, changed: result.rowCount ?? 0, command: result.command });
      });
    });
  }

  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    const { stream } = this.#client.connection;
    stream.cork();
    const uncork = (): void => {
      this.#isCorked = false;
      stream.uncork();
    };
    // Whatever has been answered by now goes on before the tick, and what it asks for goes out with this.
    queueMicrotask(() => process.nextTick(uncork));
  }
}

const commandConfigs = new GenerationMap<string, QueryArrayConfig>(commandsMax);

function commandConfig(text: string): QueryArrayConfig {
  return commandConfigs.findOrAdd(text, () => reusable({ text, rowMode: 'array' }));
}

/**
 * What a query is, for any number of them: pg copies the members that an object has of its own, one by one and each time, which
 * takes ten times as long as all else that it does to begin a query. Those of the prototype it finds where they are.
 */
function reusable(config: QueryArrayConfig): QueryArrayConfig {
  // By its prototype it has all members.
  return Object.create(config) as QueryArrayConfig;
}

const WARNING_CLASS = '01';

const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const numberTypes = new Set([21, 23, 26, 700, 701, 1700, 5069]);

/** Values as SQLite gives them: numbers are numbers, truth is 1 or 0, bytes are a Uint8Array, all else is its text. */
function parserOf(type: number): (text: string) => unknown {
  if (numberTypes.has(type)) return Number;
  if (type === INT8) return toInteger;
  if (type === BOOL) return toBit;
  return type === BYTEA ? toBytes : String;
}

export const valueTypes = {
  // pg declares an overload per known type; this one function stands for all of them.
  getTypeParser: parserOf as typeof types.getTypeParser,
};

/**
 * The same values, up to as much of one answer as can be held. What a parser throws is what the question fails with, once the
 * rest of its rows has come and been dropped; the session goes on. A session gives one answer after the other, and each begins with
 * its columns.
 */
function boundedTypes(): typeof valueTypes {
  let length = 0;
  const parsers = new Map<number, (text: string) => unknown>();
  const boundedParserOf = (type: number): ((text: string) => unknown) => {
    const parse = parserOf(type);
    return (text) => {
      length += text.length;
      if (length > answerBytesMax) throw answerTooLarge();
      return parse(text);
    };
  };
  return {
    getTypeParser: ((type: number): unknown => {
      length = 0;
      const parser = parsers.get(type) ?? boundedParserOf(type);
      parsers.set(type, parser);
      return parser;
      // As above.
    }) as typeof types.getTypeParser,
  };
}

function toInteger(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function toBit(text: string): number {
  return text === 't' ? 1 : 0;
}

/** `\x` and hexadecimal digits (`bytea_output`). */
function toBytes(text: string): Uint8Array {
  const bytes = Buffer.from(text.slice(2), 'hex');
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
