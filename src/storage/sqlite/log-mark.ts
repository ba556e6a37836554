import { readFileSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';

/** What is in a write-ahead log: the number of its committed pages, and how many of them were copied into the file. */
export interface WalState {
  readonly pages: number;
  readonly copied: number;
}

/** How long the file must not have been written: then no other connection is copying the log into it. */
const settledMs = 200;

/** The pages in the log, and when the file itself was last written, in nanoseconds. */
const MARK = /^(?<pages>\d{1,15}) (?<fileTime>\d{1,25})\n$/;

/**
 * Notices that a write-ahead log was removed or cut while nothing had the file open. SQLite takes a file without its log for a whole
 * one, although the log may hold many acknowledged writes.
 *
 * A server writes down every second, in `data.db-mark` beside `data.db`, how many pages are in the log, if it holds any that the file
 * lacks. For as long as the file is not written after that, the log must still hold them: a crash loses no committed page, and a log
 * is emptied only after it was copied into the file. The mark is not synced: it may be old or missing.
 */
export class LogMark {
  readonly #path: string;
  /** The pages that must be in the log. */
  readonly #pages: number;
  #written = '';

  /** Reads the mark. Called before SQLite opens the file. */
  constructor(path: string) {
    this.#path = path;
    const { pages, fileTime } = MARK.exec(readMark(path))?.groups ?? {};
    this.#pages = fileTime !== undefined && fileTime === timeOf(path) ? Number(pages) : 0;
  }

  /** Returns the warning for the operator if the log lacks pages. Called once the file is open, before anything is written. */
  findLoss(log: WalState | undefined): string | undefined {
    if (log === undefined || log.pages >= this.#pages) return undefined;
    rmSync(markOf(this.#path), { force: true });
    return (
      `Acknowledged changes are missing from ${this.#path}: ${this.#path}-wal held them, and was removed or damaged while ` +
      `the file was not open. If you have copies of both files, stop the server and put both back.`
    );
  }

  /** Writes the mark if it has changed. Other processes may write to file and log meanwhile. */
  async update(readLog: () => WalState | undefined): Promise<void> {
    // Read first: if the log is copied in between, the mark counts for nothing. Pages that another thread or process has just copied are
    // noted as such only after they are synced: until then the mark would ask for pages that the log may lose without writing the file again.
    const fileTime = timeOf(this.#path);
    if (fileTime === undefined || systemClock.now() - toMs(fileTime) < settledMs) return;
    const log = readLog();
    if (log === undefined || log.pages <= log.copied) return;
    const mark = `${log.pages} ${fileTime}\n`;
    if (mark === this.#written) return;
    await writeFile(markOf(this.#path), mark);
    this.#written = mark;
  }
}

function toMs(nanoseconds: string): number {
  return Number(nanoseconds) / 1e6;
}

function markOf(path: string): string {
  return `${path}-mark`;
}

/** Returns an empty text for a mark that cannot be read. */
function readMark(path: string): string {
  try {
    return readFileSync(markOf(path), 'utf8');
  } catch {
    return '';
  }
}

/** Only the directory entry is read: closing a descriptor of the file would release the locks that SQLite holds on it. */
function timeOf(path: string): string | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs.toString();
}
