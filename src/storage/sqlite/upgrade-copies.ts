import { chmod, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { AppError } from '../../base/errors.ts';
import { codeOf, syncDirectory } from '../../base/process.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../database.ts';
import { sqliteCode, unavailableSeconds, unavailableText } from '../engine-errors.ts';

/**
 * Copies of files as they were before a newer version changed their tables, so that an operator can go
 * back: `data.db-schema-14` beside `data.db` has the first fourteen steps of its migrations.
 *
 * A start copies all files that are older before it changes any of them, and ends when there is no room for that. Whether a file is
 * older is recorded only in the file, and there may be thousands: `control.db` records the version for which all were inspected. A file
 * that is found to be older after that, because it was put back from a backup, is copied when it is opened.
 */
export interface UpgradeCopyOptions {
  /** How many copies of each file are kept, the newest; with 0 none is made. */
  readonly copiesMax: number;
  /** How many steps this version knows. */
  readonly steps: { readonly control: number; readonly instance: number };
  /** Called before copies are made, which may take a while. */
  readonly onCopy: (text: string) => void;
}

/** A file that is older than this version, and the number of steps that it has. */
interface OlderFile {
  readonly path: string;
  readonly steps: number;
}

/** Copies are made of so many pages at once, 40 MB, between which the process does other work. */
const pagesAtOnce = 10_000;
const busyTimeoutMs = 5_000;

/** The setting of `control.db` that holds the version for which all files were inspected. */
const checkedSetting = 'upgrade_checked';

export class UpgradeCopies {
  readonly #directory: string;
  readonly #options: UpgradeCopyOptions;
  readonly #copied = new Set<string>();
  #hasLooked = false;

  constructor(directory: string, options: UpgradeCopyOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  /** Copies all older files, and `control.db` with them. On failure no copy is left, and nothing was changed. Throws AppError. */
  async copyAll(): Promise<void> {
    const control = join(this.#directory, 'control.db');
    if (this.#options.copiesMax === 0 || !existsSync(control)) return;
    if (readFrom(control, checkedOf) === this.#checked) return;
    this.#hasLooked = true;
    const older = await this.#findOlder(control);
    if (older.length === 0) return;
    const bytes = await this.#requireRoom(older);
    const size = `${older.length} ${older.length === 1 ? 'file' : 'files'} (${megabytes(bytes)})`;
    this.#options.onCopy(
      `The data is of an older version. A copy of ${size} is kept before they are upgraded.`,
    );
    await this.#copyFiles(older);
  }

  /** Copies one file that is about to be changed, unless this process has done so. Throws AppError. */
  async copy(path: string, steps: number): Promise<void> {
    if (this.#options.copiesMax > 0 && !this.#copied.has(path)) await this.#copyFiles([{ path, steps }]);
  }

  /** Has `control.db` remember that all files were looked at. */
  async remember(control: Database): Promise<void> {
    if (!this.#hasLooked) return;
    await control.write((tx) =>
      tx.run(sql`
        INSERT INTO ${tx.names.table('$setting')} (name, value) VALUES (${checkedSetting}, ${this.#checked})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value`),
    );
  }

  get #checked(): string {
    const { control, instance } = this.#options.steps;
    return `${control} ${instance}`;
  }

  async #findOlder(control: string): Promise<readonly OlderFile[]> {
    const { steps } = this.#options;
    const controlSteps = readFrom(control, stepsOf) ?? 0;
    // Without it there is no start.
    if (controlSteps === 0) return [];
    const instances = join(this.#directory, 'instances');
    const folders = existsSync(instances) ? (await readdir(instances)).toSorted() : [];
    const files = folders.map((folder) => join(instances, folder, 'data.db'));
    const older = files.flatMap((path) => olderFile(path, steps.instance));
    // Its list of instances belongs to their files.
    return older.length > 0 || controlSteps < steps.control
      ? [{ path: control, steps: controlSteps }, ...older]
      : [];
  }

  /** Returns how many bytes will be copied; throws when the disk has less. */
  async #requireRoom(files: readonly OlderFile[]): Promise<number> {
    const sizes = await Promise.all(files.flatMap(({ path }) => [sizeOf(path), sizeOf(`${path}-wal`)]));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const { bavail, bsize } = await statfs(this.#directory);
    if (bytes <= bavail * bsize) return bytes;
    throw refusal(
      this.#directory,
      `${megabytes(bytes)} are needed, and ${megabytes(bavail * bsize)} are free`,
    );
  }

  /** Makes all copies under other names before it renames any. */
  async #copyFiles(files: readonly OlderFile[]): Promise<void> {
    const copies: { readonly file: OlderFile; readonly unfinished: string }[] = [];
    try {
      for (const file of files) {
        await removeUnfinished(file.path);
        const unfinished = `${copyOf(file)}-${process.pid}.new`;
        copies.push({ file, unfinished });
        await copyFile(file, unfinished);
      }
      for (const { file, unfinished } of copies) await this.#finish(file, unfinished);
    } finally {
      for (const { unfinished } of copies) await rm(unfinished, { force: true });
    }
  }

  async #finish(file: OlderFile, unfinished: string): Promise<void> {
    // Otherwise another process has changed the file meanwhile, of which it has made a copy before.
    if (readFrom(unfinished, stepsOf) === file.steps) {
      await rename(unfinished, copyOf(file));
      await syncDirectory(dirname(file.path));
      await removeOld(file.path, this.#options.copiesMax);
    }
    this.#copied.add(file.path);
  }
}

/** Throws AppError when the copy cannot be made. */
async function copyFile({ path }: OlderFile, copy: string): Promise<void> {
  try {
    const source = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
    try {
      await backup(source, copy, { rate: pagesAtOnce });
    } finally {
      source.close();
    }
    await chmod(copy, (await stat(path)).mode);
  } catch (error) {
    throw refusal(path, error instanceof Error ? error.message : String(error), error);
  }
}

function refusal(path: string, reason: string, cause?: unknown): AppError {
  const what = `${path} is of an older version, and stays as it is, as the copy that is kept before an upgrade cannot be made`;
  const remedy = 'Make room, or start with --keep-upgrade-copies 0 if you have a backup.';
  const explanation = `${what}: ${reason}. ${remedy}`;
  return new AppError('unavailable', unavailableText, { cause, explanation, retryAfter: unavailableSeconds });
}

function copyOf({ path, steps }: OlderFile): string {
  return `${path}-schema-${steps}`;
}

/** Removes what processes have left that died while they made a copy. */
async function removeUnfinished(path: string): Promise<void> {
  for (const name of await copiesOf(path)) {
    const pid = /-(?<pid>\d+)\.new(?:-journal)?$/.exec(name)?.groups?.['pid'];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(dirname(path), name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Removes all but the newest copies of a file. */
async function removeOld(path: string, copiesMax: number): Promise<void> {
  const names = (await copiesOf(path)).filter((name) => /-schema-\d+$/.test(name));
  const copies = await Promise.all(
    names.map(async (name) => {
      const copy = join(dirname(path), name);
      return { copy, createdMs: (await stat(copy)).mtimeMs };
    }),
  );
  const old = copies.toSorted((a, b) => b.createdMs - a.createdMs).slice(copiesMax);
  for (const { copy } of old) await rm(copy, { force: true });
}

async function copiesOf(path: string): Promise<readonly string[]> {
  const start = `${basename(path)}-schema-`;
  return (await readdir(dirname(path))).filter((name) => name.startsWith(start));
}

/** Nothing for a file that is new, or cannot be read: opening it reports why. */
function olderFile(path: string, currentSteps: number): readonly OlderFile[] {
  const steps = readFrom(path, stepsOf) ?? 0;
  return steps > 0 && steps < currentSteps ? [{ path, steps }] : [];
}

/** Returns the result of `read` on a file, opened read-only; undefined when it cannot be read. */
function readFrom<Value>(path: string, read: (database: DatabaseSync) => Value): Value | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const place = pathToFileURL(path);
    // No process has the file open: SQLite then needs no files beside it, which it could not remove again.
    if (!existsSync(`${path}-wal`)) place.search = '?immutable=1';
    const database = new DatabaseSync(place, { readOnly: true, timeout: busyTimeoutMs });
    try {
      return read(database);
    } finally {
      database.close();
    }
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error;
    return undefined;
  }
}

/** How many steps of its migrations a file has, as migrate.ts counts them. */
function stepsOf(database: DatabaseSync): number {
  if (!hasTable(database, '$migration')) return 0;
  return Number(database.prepare('SELECT count(*) AS steps FROM "$migration"').get()?.['steps']);
}

function checkedOf(database: DatabaseSync): string | undefined {
  if (!hasTable(database, '$setting')) return undefined;
  const row = database.prepare('SELECT value FROM "$setting" WHERE name = ?').get(checkedSetting);
  return row === undefined ? undefined : String(row['value']);
}

function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined;
}

async function sizeOf(path: string): Promise<number> {
  return existsSync(path) ? (await stat(path)).size : 0;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
