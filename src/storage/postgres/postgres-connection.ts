import type { PoolClient, QueryArrayConfig, types } from 'pg';
import { assert } from '../../base/assert.ts';
import { GenerationCache } from '../../base/cache.ts';
import { systemClock } from '../../base/clock.ts';
import { replacePlaceholders, type Sql, type SqlValue } from '../../sql/sql.ts';
import { answerBytesMax, answerTooLarge, type Row, type Tuple } from '../database.ts';
import { endsSession, isStaleStatement, toPostgresError } from './postgres-errors.ts';
import { type CopyQuery, StatementNames } from './prepared-statements.ts';

/** The size of a generation of query configs, in characters of SQL; `configLength` is what one takes besides its text. */
const configsLengthMax = 2 * 1024 * 1024;
const configLength = 4_096;
/** How many configs of commands a generation holds: commands are few and short. */
const commandsMax = 256;

export interface StatementResult<Shape> {
  readonly rows: readonly Shape[];
  readonly changed: number;
  readonly command: string;
}

/**
 * One session of the server. Statements are pipelined: sent at once, those of one turn in one packet, and answered in order. A session
 * whose transaction or answers are in doubt is closed and never used again.
 */
export class PostgresConnection {
  readonly #client: PoolClient;
  readonly #names: StatementNames;
  /** The most that the values of an answer may take. */
  readonly #rows = { bytesMax: answerBytesMax };
  readonly #types = boundedTypes(this.#rows);
  /** Query configs by the names of prepared statements, each of which stands for one text. */
  readonly #configs = new GenerationCache<string, QueryArrayConfig>(
    configsLengthMax,
    ({ text }) => text.length + configLength,
  );
  #isLost = false;
  #isCorked = false;
  #pending = 0;
  #warnings = 0;
  #timeoutMs: number;
  #plansByKeys = false;

  /** `timeoutMs` is the session's initial `statement_timeout`. */
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

  /** The number of warnings so far. A warning arrives before the answer to the statement that caused it. */
  get warnings(): number {
    return this.#warnings;
  }

  /** True when the next borrower finds the session as if new: idle, outside a transaction, with names left for statements. */
  get isReusable(): boolean {
    const isIdle = this.#pending === 0 && this.#client.getTransactionStatus() === 'I';
    return !this.#isLost && isIdle && !this.#names.isExhausted;
  }

  rows(statement: Sql): Promise<StatementResult<Row>> {
    return this.#query(statement, false);
  }

  tuples(statement: Sql): Promise<StatementResult<Tuple>> {
    return this.#query(statement, true);
  }

  /** Sends statements without values by the simple query protocol; several are separated by semicolons. */
  command(text: string): Promise<StatementResult<Row>> {
    return this.#send(commandConfig(text), []);
  }

  copy(query: CopyQuery): Promise<StatementResult<Row>> {
    return this.#send(query, []);
  }

  /**
   * Sends a question between two commands, in one packet. `after` is run even if the question fails. `spend` is called with how long the
   * server took to answer the question, in milliseconds, whatever it had to answer before.
   */
  async between<Shape>(
    { before, after, spend }: AroundQuestion,
    query: () => Promise<StatementResult<Shape>>,
  ): Promise<StatementResult<Shape>> {
    const steps = [this.command(before), query(), this.command(after)] as const;
    const [begunMs, answeredMs] = await Promise.all([settledAt(steps[0]), settledAt(steps[1])]);
    spend?.(answeredMs - begunMs);
    await Promise.allSettled(steps);
    const [, answer] = await Promise.all(steps);
    return answer;
  }

  /** Limits what the values of each of the next answers may take in memory. */
  limitRows(bytesMax = answerBytesMax): void {
    this.#rows.bytesMax = bytesMax;
  }

  /** Sets the session's `statement_timeout`, outside a transaction. Sent only on a change, in one packet with the next statement. */
  limitStatements(timeoutMs: number): void {
    if (timeoutMs === this.#timeoutMs) return;
    assert(Number.isInteger(timeoutMs), 'a timeout is a whole number of milliseconds');
    this.#timeoutMs = timeoutMs;
    // This fails only if the session does, and then the next statement fails as well.
    this.command(`SET statement_timeout = ${timeoutMs}`).catch(() => this.close());
  }

  /** Sets how the session plans, outside a transaction: {@link keyedSettings} or as usual. Sent as by `limitStatements`. */
  planByKeys(isByKeys: boolean): void {
    if (isByKeys === this.#plansByKeys) return;
    this.#plansByKeys = isByKeys;
    const set = keyedSettings.map(([name, value]) => (isByKeys ? `SET ${name} = ${value}` : `RESET ${name}`));
    this.command(set.join('; ')).catch(() => this.close());
  }

  /** Closes the session after the delay unless the timer is cleared, so that a network that swallows packets blocks no caller. */
  expireAfter(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.close(), delayMs);
  }

  /** Closes the session at once: all statements without an answer are rejected. */
  close(): void {
    this.#isLost = true;
    this.#client.connection.stream.destroy();
  }

  /** Deallocates evicted prepared statements. Called before the session goes back to the pool. */
  forgetOldStatements(): void {
    const dropped = this.#names.takeDropped();
    if (dropped.length === 0) return;
    const text = dropped.map((name) => `DEALLOCATE ${name}`).join(';');
    // Sent, not awaited: the next borrower's statements queue behind it. When it fails the session has ended, or is closed later.
    this.command(text).catch(() => this.close());
  }

  async #query<Shape>(statement: Sql, isArray: boolean): Promise<StatementResult<Shape>> {
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
    { text, form }: Sql,
    options: { readonly name: string | undefined; readonly isArray: boolean },
  ): QueryArrayConfig {
    const { name, isArray } = options;
    const numbered = numberPlaceholders(text);
    // By the simple protocol, which pg uses without values, a text can be several statements.
    if (form?.kind === 'single') {
      const single = { text: numbered, name, rowMode: 'array', types: this.#types, queryMode: 'extended' };
      // pg's types do not know of the mode yet.
      return single as QueryArrayConfig;
    }
    // pg's types know of one mode only; any other value means rows as objects.
    if (!isArray) return { text: numbered, name, rowMode: undefined as unknown as 'array' };
    const types = this.#types;
    if (name === undefined) return { text: numbered, name, rowMode: 'array', types };
    return this.#configs.findOrAdd(name, () => reusable({ text: numbered, name, rowMode: 'array', types }));
  }

  #send<Shape>(
    config: QueryArrayConfig | CopyQuery,
    values: readonly SqlValue[],
  ): Promise<StatementResult<Shape>> {
    this.#cork();
    this.#pending += 1;
    return new Promise((resolve, reject) => {
      // pg's declarations know of values only behind a text.
      const queryConfig = config as unknown as string;
      // pg reads the values when it sends them, and neither changes nor keeps them.
      const sent = values as SqlValue[];
      this.#client.query(queryConfig, sent, (error: Error | null, result) => {
        this.#pending -= 1;
        if (error) {
          if (endsSession(error)) this.#isLost = true;
          reject(toPostgresError(error));
          return;
        }
        // Several statements in one command return an array of results, of which no caller needs the rows.
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
    // Works whose answers have arrived continue before the tick, and their next statements go out in the same packet.
    queueMicrotask(() => process.nextTick(uncork));
  }
}

/** What is sent around a question. */
interface AroundQuestion {
  readonly before: string;
  readonly after: string;
  readonly spend?: (tookMs: number) => void;
}

/** Resolves to the time when the promise is settled. */
function settledAt(promise: Promise<unknown>): Promise<number> {
  const now = (): number => systemClock.monotonic();
  return promise.then(now, now);
}

/**
 * For statements that find their rows by keys: a plan that is made once for all values, and that reads no table whole
 * (https://www.postgresql.org/docs/current/runtime-config-query.html).
 */
const keyedSettings = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
] as const;

const commandConfigs = new GenerationCache<string, QueryArrayConfig>(commandsMax);

function commandConfig(text: string): QueryArrayConfig {
  return commandConfigs.findOrAdd(text, () => reusable({ text, rowMode: 'array' }));
}

/**
 * A query config without own members, its values on the prototype. pg copies a config's own members for each query, which takes ten
 * times as long as all else that it does to begin one; members of the prototype are found without being copied.
 */
function reusable(config: QueryArrayConfig): QueryArrayConfig {
  // The prototype provides all members.
  return Object.create(config) as QueryArrayConfig;
}

const WARNING_CLASS = '01';

const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const numberTypes = new Set([21, 23, 26, 700, 701, 1700, 5069]);

/** Parses values as node:sqlite returns them: numbers as numbers, booleans as 1 or 0, bytes as a Uint8Array, all else as text. */
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
 * As `valueTypes`, but an answer that is too large to hold is refused. pg rejects the query with what a parser throws, after it has
 * received and dropped the remaining rows; the session stays usable. `getTypeParser` is called for the columns that each answer begins
 * with, which resets the count: a session returns one answer after the other.
 */
function boundedTypes(rows: { readonly bytesMax: number }): typeof valueTypes {
  let length = 0;
  const parsers = new Map<number, (text: string) => unknown>();
  const boundedParserOf = (type: number): ((text: string) => unknown) => {
    const parse = parserOf(type);
    return (text) => {
      length += text.length;
      if (length > rows.bytesMax) throw answerTooLarge();
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

/** Decodes `\x` and hexadecimal digits (`bytea_output`). Not into Buffer's pool: posting the bytes to a thread would copy all of it. */
function toBytes(text: string): Uint8Array {
  return Uint8Array.fromHex(text.slice(2));
}

/**
 * The size of a generation of numbered texts, in characters. Not their count: the text of a list with many fields takes as much as
 * hundreds of others, and clients can make any number of such texts.
 */
const lengthMax = 8 * 1024 * 1024;

const numberedTexts = new GenerationCache<string, string>(
  lengthMax,
  (numbered, text) => numbered.length + text.length,
);

/** Replaces `?` by `$1`, `$2`, … except between quotes. Our statements have no comments, and no strings with backslashes. */
export function numberPlaceholders(text: string): string {
  return numberedTexts.findOrAdd(text, () => replacePlaceholders(text, (count) => `$${count}`));
}
