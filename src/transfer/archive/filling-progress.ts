import { AppError } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import { BytesDigest } from '../../secrets/digest.ts';
import { sql } from '../../sql/sql.ts';
import type { Database, Reader, Transaction, WriteOptions } from '../../storage/database.ts';
import { refusedArchive } from './archive-format.ts';

/** How far an import has come that was cut off. */
interface Noted {
  /** Identifies the archive, and what it is imported as. */
  readonly source: string;
  /** Rows that are stored, of all parts. */
  readonly rows: number;
  /** Of the lines of those rows, and the names of their parts. */
  readonly digest: string;
  /** Collections whose tables were made. */
  readonly tables: number;
}

/** What a run has found that an earlier one had stored. */
export interface ResumedImport {
  readonly rows: number;
  readonly files: number;
}

/** A setting of the instance that is being filled. It is gone before the instance is shown. */
const settingName = 'import';

/**
 * How far an import is, noted in the transaction of what is stored. An import that goes on reads all rows again, so that the digest of every
 * part is checked in the run that ends it, and stores those that are not there yet.
 */
export class FillingProgress {
  readonly #source: string;
  readonly #before: Noted | undefined;
  readonly #digest = new BytesDigest();
  /** What is stored of this; another process that goes on with the same import changes it. */
  #text: string | undefined;
  #rows = 0;
  /** The digest at the last row: names of parts without rows may follow. */
  #reached = '';
  #tables = 0;
  #files = 0;

  private constructor(source: string, text: string | undefined) {
    this.#source = source;
    this.#text = text;
    this.#before = toNoted(text);
  }

  /** Goes on where an import of the same source was cut off in these data; begins in empty ones. */
  static async open(database: Database, source: string): Promise<FillingProgress> {
    return new FillingProgress(source, await readText(database));
  }

  /** Whether an import of this source was cut off in these data. */
  static async isBegun(reader: Reader, source: string): Promise<boolean> {
    return toNoted(await readText(reader))?.source === source;
  }

  /** Undefined where nothing was stored before. */
  get resumed(): ResumedImport | undefined {
    return this.#before && { rows: this.#before.rows, files: this.#files };
  }

  beginPart(name: string): void {
    this.#digest.add(Buffer.from(`${name}\n`));
  }

  /** Returns those of the next lines that are not stored yet. Throws bad_request where those that are stored are others. */
  rest(lines: readonly string[]): readonly string[] {
    const storedRows = this.#before?.rows ?? 0;
    const count = Math.max(0, storedRows - this.#rows);
    const stored = lines.slice(0, count);
    this.#add(stored);
    if (stored.length > 0 && this.#rows === storedRows && this.#reached !== this.#before?.digest)
      throw othersStored();
    const rest = lines.slice(count);
    this.#add(rest);
    return rest;
  }

  /** Counts the table of a collection, and returns whether it was made before. */
  isTableMade(): boolean {
    this.#tables += 1;
    return this.#tables <= (this.#before?.tables ?? 0);
  }

  noteStoredFile(): void {
    this.#files += 1;
  }

  /** Stores what has come since, of which nothing was stored before. Throws conflict when another process goes on with this import. */
  async write(
    database: Database,
    work: (tx: Transaction) => Promise<unknown>,
    options?: WriteOptions,
  ): Promise<void> {
    const noted: Noted = {
      source: this.#source,
      rows: this.#rows,
      digest: this.#reached,
      tables: this.#tables,
    };
    const text = JSON.stringify(noted);
    await database.write(async (tx) => {
      await this.#save(tx, text);
      await work(tx);
    }, options);
    this.#text = text;
  }

  /** Forgets the progress once all is stored. Throws bad_request where more was stored before than the archive has. */
  async end(database: Database): Promise<void> {
    if (this.#rows < (this.#before?.rows ?? 0)) throw othersStored();
    const { names } = database;
    await database.write((tx) =>
      tx.run(
        sql`DELETE FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = ${settingName}`,
      ),
    );
  }

  #add(lines: readonly string[]): void {
    this.#rows += lines.length;
    for (const line of lines) this.#digest.add(Buffer.from(`${line}\n`));
    if (lines.length > 0) this.#reached = this.#digest.now();
  }

  async #save(tx: Transaction, text: string): Promise<void> {
    const { names } = tx;
    const table = names.table('$instance_setting');
    const count =
      this.#text === undefined
        ? await tx.run(sql`
            INSERT INTO ${table} (${names.instance.column}name, value) VALUES (${names.instance.value}${settingName}, ${text})
            ON CONFLICT (${names.instance.column}name) DO NOTHING`)
        : await tx.run(sql`
            UPDATE ${table} SET value = ${text} WHERE ${names.instance.condition} AND name = ${settingName} AND value = ${this.#text}`);
    if (count === 0) throw new AppError('conflict', 'Another process has taken over this import.');
  }
}

async function readText(reader: Reader): Promise<string | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = ${settingName}`,
  );
  return row && String(row[0]);
}

function toNoted(text: string | undefined): Noted | undefined {
  if (text === undefined) return undefined;
  const noted: unknown = JSON.parse(text);
  // Only this file writes it.
  return isJsonObject(noted) ? (noted as unknown as Noted) : undefined;
}

/** The same manifest, but other content: the file was damaged in one of the runs. */
function othersStored(): AppError {
  return refusedArchive(
    'its rows are not those that were stored before. Nothing of them is left: import it again.',
  );
}
