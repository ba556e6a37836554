import { chmod, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { AppError } from '../../base/errors.ts';
import { isAlive, syncDirectory } from '../../base/process.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../database.ts';
import { sqliteCode, unavailableSeconds, unavailableText } from '../engine-errors.ts';

/**
 * Copies of files as they were before a newer version changed their tables, so that an operator can go
 * back: `data.db-schema-14` beside `data.db` has the first fourteen steps of its migrations.
 *
 * A file that is older is copied when it is opened: `control.db` at the start, that of an instance when it is first used, or in turn
 * (instances/instance-visits.ts). There may be thousands: only the file itself says whether it is older, so `control.db` records the version
 * for which all instances are to be opened. Each copy must find room for itself: one that finds none keeps its instance closed, and no other.
 */
export interface UpgradeCopyOptions {
  /** How many copies of each file are kept, the newest; with 0 none is made. */
  readonly copiesMax: number;
  /** How many steps this version knows. */
  readonly steps: { readonly control: number; readonly instance: number };
}

/** A file that is older than this version, and the number of steps that it has. */
interface OlderFile {
  readonly path: string;
  readonly steps: number;
}

/** Copies are made of so many pages at once, 40 MB, between which the process does other work. */
const pagesAtOnce = 10_000;
const busyTimeoutMs = 5_000;

/** What a copy leaves free, so that thousands of them do not fill the disk: one part of so many of a small one. */
const spareBytesMax = 64 * 1024 ** 2;
const spareParts = 8;

/** The setting of `control.db` that holds the version for which all instances are opened once. */
const checkedSetting = 'upgrade_checked';

export class UpgradeCopies {
  readonly #options: UpgradeCopyOptions;
  readonly #copied = new Set<string>();

  constructor(options: UpgradeCopyOptions) {
    this.#options = options;
  }

  /** Copies a file that is about to be changed, unless this process has done so. Throws AppError, as where it finds no room. */
  async copy(path: string, steps: number): Promise<void> {
    if (this.#options.copiesMax === 0 || this.#copied.has(path)) return;
    const file = { path, steps };
    await removeUnfinished(path);
    await requireRoom(path);
    const unfinished = `${copyOf(file)}-${process.pid}.new`;
    try {
      await copyFile(file, unfinished);
      await this.#finish(file, unfinished);
    } finally {
      await rm(unfinished, { force: true });
    }
  }

  /** Notes in `control.db`, when a version opens it for the first time, that it has opened none of the instances yet. */
  async beginUpgrade(control: Database): Promise<void> {
    const { names } = control;
    const { steps } = this.#options;
    const version = `${steps.control} ${steps.instance}`;
    const row = await control.get(
      sql`SELECT value FROM ${names.table('$setting')} WHERE name = ${checkedSetting}`,
    );
    if (row?.['value'] === version) return;
    await control.write(async (tx) => {
      await tx.run(sql`
        INSERT INTO ${names.table('$upgrade')} (instance) SELECT id FROM ${names.table('$instance')} WHERE TRUE ON CONFLICT DO NOTHING`);
      await tx.run(sql`
        INSERT INTO ${names.table('$setting')} (name, value) VALUES (${checkedSetting}, ${version})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
    });
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

/** Throws AppError where a copy would take the room that other files need to grow. */
async function requireRoom(path: string): Promise<void> {
  const needed = (await sizeOf(path)) + (await sizeOf(`${path}-wal`));
  const { bavail, bsize, blocks } = await statfs(dirname(path));
  const free = bavail * bsize;
  const spare = Math.min(spareBytesMax, Math.floor((blocks * bsize) / spareParts));
  if (needed + spare <= free) return;
  throw refusal(
    path,
    `${megabytes(needed)} are needed and ${megabytes(spare)} beside them, and ${megabytes(free)} are free`,
  );
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

function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined;
}

async function sizeOf(path: string): Promise<number> {
  return existsSync(path) ? (await stat(path)).size : 0;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
