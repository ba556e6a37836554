import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the server's system calls answer from now on. */
export interface DiskFault {
  readonly call: keyof typeof faultAt;
  readonly error: keyof typeof errors;
  /** Fails only what is done to paths with this end. */
  readonly suffix?: string;
  /** Calls that pass before. */
  readonly skip?: number;
  /** Calls that fail; all of them when it is left out. */
  readonly times?: number;
}

export interface DiskCounts {
  readonly syncs: number;
  readonly writes: number;
  readonly opens: number;
}

/** Why nothing can be tested here, or undefined. */
export const faultyDiskMissing: string | undefined =
  process.platform !== 'linux'
    ? 'the disk can be made to fail on Linux only'
    : spawnSync('cc', ['--version']).status === 0
      ? undefined
      : 'there is no C compiler (cc) for test/faults/faulty-disk.c';

// The numbers of faulty-disk.c: Linux's own, one that kills, and one with which a call waits until the disk is healed.
const errors = { EIO: 5, EMFILE: 24, ENOSPC: 28, EROFS: 30, hang: 9998, death: 9999 } as const;
const sizeBytes = 4096;
// Offsets of `struct control`.
const countsBytes = 24;
const countedAt = 24;
const faultAt = { sync: 128, write: 256, read: 384, open: 512 } as const;
const timesOffset = 8;
const suffixOffset = 24;
const suffixBytes = 104;

/**
 * A disk that counts and fails on command, for one child process: give the child {@link environment}. It is steered through
 * a file that the child maps into its memory, so that a fault can come and go while it runs.
 */
export class FaultyDisk {
  readonly #folder = mkdtempSync(join(tmpdir(), 'chancery-disk-'));
  readonly #library = join(this.#folder, 'faulty-disk.so');
  readonly #path = join(this.#folder, 'control');
  readonly #control: number;

  constructor() {
    const source = fileURLToPath(new URL('faulty-disk.c', import.meta.url));
    const compiled = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', this.#library, source]);
    if (compiled.status !== 0) throw new Error(`faulty-disk.c does not compile: ${String(compiled.stderr)}`);
    this.#control = openSync(this.#path, 'w+');
    ftruncateSync(this.#control, sizeBytes);
  }

  /** For a child whose files lie below `folder`. */
  environment(folder: string): Readonly<Record<string, string>> {
    return { LD_PRELOAD: this.#library, FAULTY_DISK_CONTROL: this.#path, FAULTY_DISK_FOLDER: folder };
  }

  /** Counts only what is done to paths with this end. */
  count(suffix: string): void {
    this.#writeText(countedAt, suffix);
  }

  get counts(): DiskCounts {
    const bytes = Buffer.alloc(countsBytes);
    readSync(this.#control, bytes, 0, bytes.length, 0);
    const [syncs = 0, writes = 0, opens = 0] = [0, 8, 16].map((at) => Number(bytes.readBigInt64LE(at)));
    return { syncs, writes, opens };
  }

  fail({ call, error, suffix = '', skip = 0, times = -1 }: DiskFault): void {
    this.#writeNumber(faultAt[call] + timesOffset, 0);
    this.#writeNumber(faultAt[call], skip);
    this.#writeNumber(faultAt[call] + 16, errors[error]);
    this.#writeText(faultAt[call] + suffixOffset, suffix);
    // Last, because this arms it.
    this.#writeNumber(faultAt[call] + timesOffset, times);
  }

  heal(): void {
    for (const at of Object.values(faultAt)) this.#writeNumber(at + timesOffset, 0);
  }

  close(): void {
    closeSync(this.#control);
    rmSync(this.#folder, { recursive: true });
  }

  #writeNumber(at: number, value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(value));
    writeSync(this.#control, bytes, 0, bytes.length, at);
  }

  #writeText(at: number, text: string): void {
    const bytes = Buffer.alloc(suffixBytes);
    bytes.write(text);
    writeSync(this.#control, bytes, 0, bytes.length, at);
  }
}
