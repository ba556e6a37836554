import type { Clock } from '../base/clock.ts';
import { QuotaExceeded } from '../base/errors.ts';
import type { Database, Reader } from '../storage/database.ts';

/** How old a measurement may be that admits a write, and one that refuses it. */
const ageMsMax = { admitting: 5_000, refusing: 500 } as const;

interface Measurement {
  readonly atMs: number;
  readonly bytes: number;
  /** Of the requests that came since. */
  written: number;
}

interface MeasuredInstance {
  readonly id: string;
  readonly database: Database;
}

/**
 * Keeps the data of instances within their quotas of bytes. Where each has a file of its own, its size is read in the transaction that writes, so that
 * the quota is not exceeded. Elsewhere the tables are measured every few seconds, and what requests bring is added in between.
 */
export class DataRoom {
  readonly #clock: Clock;
  /** Of instances with a quota. */
  readonly #measurements = new Map<string, Measurement>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws QuotaExceeded where a request of so many bytes finds no room. Does nothing where {@link requireRoom} decides. */
  async admit(instance: MeasuredInstance, max: number, bytes: number): Promise<void> {
    if (!instance.database.names.isConcurrent) return;
    let measurement = await this.#measurement(instance, ageMsMax.admitting);
    if (measurement.bytes + measurement.written + bytes > max)
      measurement = await this.#measurement(instance, ageMsMax.refusing);
    if (measurement.bytes + measurement.written + bytes > max) throw exceeded();
    measurement.written += bytes;
  }

  async #measurement({ id, database }: MeasuredInstance, ageMs: number): Promise<Measurement> {
    const before = this.#measurements.get(id);
    const atMs = this.#clock.monotonic();
    if (before !== undefined && atMs - before.atMs <= ageMs) return before;
    const measurement = { atMs, bytes: await readDataBytes(database), written: 0 };
    this.#measurements.set(id, measurement);
    return measurement;
  }
}

/** Throws QuotaExceeded when the data of an instance with a file of its own is larger after a write than it may be. */
export async function requireRoom(reader: Reader, max: number): Promise<void> {
  if (!reader.names.isConcurrent && (await readDataBytes(reader)) > max) throw exceeded();
}

/** Returns the bytes that the data of an instance takes: of its file, or of the tables and indexes of its collections. */
export async function readDataBytes(reader: Reader): Promise<number> {
  const [row] = await reader.tuples(reader.names.dataBytes);
  return Number(row?.[0]);
}

function exceeded(): QuotaExceeded {
  return new QuotaExceeded('dataBytes', { code: 'quota_full' });
}
