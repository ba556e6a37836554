import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the server's system calls answer from now on. */
export interface DiskFault {
  readonly call: 'sync' | 'write';
  readonly error: keyof typeof errors;
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

// The numbers of faulty-disk.c: Linux's own, and one that kills.
const errors = { EIO: 5, ENOSPC: 28, death: 9999 } as const;
const sizeBytes = 4096;
const countsAt = 0;
const faultAt = { sync: 24, write: 48 } as const;
const suffixAt = 72;
const suffixBytes = 128;

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

  /** Counts and fails only what is done to paths with this end; everything when it is empty. */
  watch(suffix: string): void {
    const bytes = Buffer.alloc(suffixBytes);
    bytes.write(suffix);
    writeSync(this.#control, bytes, 0, suffixBytes, suffixAt);
  }

  get counts(): DiskCounts {
    const bytes = Buffer.alloc(24);
    readSync(this.#control, bytes, 0, bytes.length, countsAt);
    const [syncs = 0, writes = 0, opens = 0] = [0, 8, 16].map((at) => Number(bytes.readBigInt64LE(at)));
    return { syncs, writes, opens };
  }

  fail({ call, error, skip = 0, times = -1 }: DiskFault): void {
    this.#write(call, 0);
    const bytes = Buffer.alloc(24);
    bytes.writeBigInt64LE(BigInt(skip), 0);
    bytes.writeBigInt64LE(BigInt(errors[error]), 16);
    writeSync(this.#control, bytes, 0, bytes.length, faultAt[call]);
    this.#write(call, times);
  }

  heal(): void {
    this.#write('sync', 0);
    this.#write('write', 0);
  }

  close(): void {
    closeSync(this.#control);
    rmSync(this.#folder, { recursive: true });
  }

  /** How often is written last, because it arms the fault. */
  #write(call: DiskFault['call'], times: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(times));
    writeSync(this.#control, bytes, 0, bytes.length, faultAt[call] + 8);
  }
}
