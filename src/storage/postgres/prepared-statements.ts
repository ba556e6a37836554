import { Buffer } from 'node:buffer';
import { type Connection, Query } from 'pg';
import type { Sql } from '../../sql/sql.ts';
import type { Tuple } from '../database.ts';

/** Limits of a session, after which it is replaced: pg never forgets the name and the text of a prepared statement. */
const namesMax = 10_000;
const namedLengthMax = 8 * 1024 * 1024;
/** The characters of a generation's texts: those of some lists are as long as hundreds of others. */
const lengthMax = 2 * 1024 * 1024;

interface StatementEntry {
  name: string | undefined;
  isPrepared: boolean;
}

/**
 * The names of one session's prepared statements, in two generations: a statement that is unused for a whole generation is dropped. A
 * text is prepared when it comes for the second time, because most filters come only once.
 */
export class StatementNames {
  readonly #max: number;
  #young = new Map<string, StatementEntry>();
  #old = new Map<string, StatementEntry>();
  #dropped: string[] = [];
  #names = 0;
  /** The characters of all texts that ever got a name. */
  #namedLength = 0;
  /** The characters of all texts in the young generation. */
  #length = 0;

  /** `max` is the number of texts in a generation. With 0 nothing is ever prepared, as some poolers in front of the server require. */
  constructor(max: number) {
    this.#max = max;
  }

  get isExhausted(): boolean {
    return this.#names >= namesMax || this.#namedLength >= namedLengthMax;
  }

  /** Returns the name for a text; undefined when it is to be sent without being prepared. */
  nameOf(text: string): string | undefined {
    if (this.#max === 0) return undefined;
    const entry = this.#young.get(text) ?? this.#old.get(text);
    if (entry === undefined) {
      this.#add(text, { name: undefined, isPrepared: false });
      return undefined;
    }
    entry.name ??= this.#newName(text);
    if (this.#old.delete(text)) this.#add(text, entry);
    return entry.name;
  }

  noteSuccess(text: string): void {
    const entry = this.#young.get(text) ?? this.#old.get(text);
    if (entry !== undefined) entry.isPrepared = true;
  }

  forget(text: string): void {
    this.#drop(this.#young.get(text) ?? this.#old.get(text));
    this.#young.delete(text);
    this.#old.delete(text);
  }

  /** Returns the names to deallocate, each once. */
  takeDropped(): readonly string[] {
    if (this.#dropped.length === 0) return this.#dropped;
    const dropped = this.#dropped;
    this.#dropped = [];
    return dropped;
  }

  #add(text: string, entry: StatementEntry): void {
    if (this.#young.size >= this.#max || this.#length + text.length > lengthMax) {
      for (const unused of this.#old.values()) this.#drop(unused);
      this.#old = this.#young;
      this.#young = new Map();
      this.#length = 0;
    }
    this.#length += text.length;
    this.#young.set(text, entry);
  }

  #newName(text: string): string {
    this.#namedLength += text.length;
    return `c${(this.#names += 1)}`;
  }

  #drop(entry: StatementEntry | undefined): void {
    if (entry?.name !== undefined && entry.isPrepared) this.#dropped.push(entry.name);
  }
}

/**
 * COPY … FROM STDIN, which costs the node half as much as an INSERT of many rows, and the server four fifths. The rows are sent
 * without waiting for the server's CopyInResponse, so that the COPY can be pipelined as any other statement. If it fails, the server
 * drops the remaining rows ("COPY Operations" in the manual's chapter on the protocol).
 */
export class CopyQuery extends Query {
  readonly #text: string;
  readonly #lines: Buffer;

  constructor(into: Sql, rows: readonly Tuple[]) {
    const text = `COPY ${into.text} FROM STDIN`;
    super({ text });
    this.#text = text;
    this.#lines = toLines(rows);
  }

  /** Does nothing, as the rows are already sent; the base class would send a CopyFail. */
  handleCopyInResponse(): void {}

  // A property and not a method, as in pg's declarations.
  override submit = (connection: Connection): void => {
    // pg has these methods for COPY, but does not declare them.
    const sender = connection as Connection & CopySender;
    sender.query(this.#text);
    sender.sendCopyFromChunk(this.#lines);
    sender.endCopyFrom();
  };
}

interface CopySender {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** Writes rows in COPY's text format: a line for each row, tabs between values, special characters escaped by a backslash. */
function toLines(rows: readonly Tuple[]): Buffer {
  // Joined: repeated concatenation would leave long-lived garbage.
  const lines = rows.map((row) => row.map(toCopied).join('\t'));
  return Buffer.from(`${lines.join('\n')}\n`);
}

function toCopied(value: Tuple[number]): string {
  if (value === null) return String.raw`\N`;
  if (value instanceof Uint8Array) return String.raw`\\x` + Buffer.from(value).toString('hex');
  return typeof value === 'string' ? escaped(value) : String(value);
}

function escaped(text: string): string {
  if (!/[\\\t\n\r]/.test(text)) return text;
  return text.replaceAll(/[\\\t\n\r]/g, (character) => escapes[character] ?? character);
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
