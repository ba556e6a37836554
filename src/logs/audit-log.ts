import type { Clock } from '../base/clock.ts';
import { newTimeOrderedId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { digest } from '../secrets/digest.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { type Actor, type AuditEntry, writtenActor, type WrittenActor } from './audit-entry.ts';

/** What the audit log needs of its instance. */
export interface AuditedInstance {
  readonly id: string;
  readonly database: Database;
  readonly clock: Clock;
  /** How long entries are kept; 0 for ever. */
  readonly auditDays: number;
  readonly logger: Logger;
}

export const auditLimits = {
  /** Tally rows that one node writes per minute. Beyond it, entries from further addresses share a row without an address. */
  talliesMax: 1_000,
  /** Tallies kept in memory while the database is away; further ones are dropped silently. */
  unwrittenMax: 5_000,
  /** Tallies of one transaction: all at once could pass its time limit on a busy machine, again and again. */
  writtenTogetherMax: 500,
  detailsBytesMax: 16 * 1024,
} as const;

const minuteMs = 60_000;
/** Pause between two writes of tallies: even a flood only updates a row once a second. */
const pauseMsDefault = 1_000;
/** The pause is this many times longer after a failed write: the database is away or full, which other requests report anyway. */
const failurePauses = 10;

/** All equal entries of one minute. */
interface Tally {
  readonly id: string;
  readonly entry: AuditEntry;
  readonly actor: WrittenActor;
  readonly firstMs: number;
  lastMs: number;
  count: number;
}

/** One instance's audit log. Entries are deleted only by age; tallies also by their number. */
export class AuditLog {
  readonly #instance: AuditedInstance;
  readonly #pauseMs: number;
  /** Tallies that are not written yet. */
  #tallies = new Map<string, Tally>();
  /** Ids of this minute's rows, to hold `talliesMax`. */
  #minute = { number: 0, ids: new Set<string>() };
  #prunedMs = Number.NEGATIVE_INFINITY;
  #isWriting = false;
  #written: Promise<void> = Promise.resolve();
  #isSettling = false;
  #endPause: () => void = () => undefined;

  constructor(instance: AuditedInstance, pauseMs = pauseMsDefault) {
    this.#instance = instance;
    this.#pauseMs = pauseMs;
  }

  /** Writes an entry in the transaction of the action itself. */
  async append(tx: Transaction, actor: Actor, entry: AuditEntry): Promise<void> {
    const nowMs = this.#instance.clock.now();
    const id = newTimeOrderedId(nowMs);
    const written = writtenActor(actor);
    await insert(tx, { id, entry, actor: written, firstMs: nowMs, lastMs: nowMs, count: 1 }, 'once');
    if (this.#instance.auditDays > 0 && this.#isPruneDue(nowMs)) tx.afterCommit(() => this.#wake());
  }

  /** Tallies an entry for an action that has no transaction and may happen any number of times. It is written later. */
  note(actor: Actor, entry: AuditEntry): void {
    const nowMs = this.#instance.clock.now();
    const tally = this.#tallyOf(writtenActor(actor), entry, nowMs);
    merge(this.#tallies, tally);
    this.#wake();
  }

  /** Resolves when everything noted is written, or has failed to be. Call it before the database is closed. */
  async settle(): Promise<void> {
    this.#isSettling = true;
    this.#endPause();
    await this.#written;
    if (this.#tallies.size === 0) return;
    // Tallies that could not be written are tried a last time.
    this.#wake();
    await this.#written;
    const { id, logger } = this.#instance;
    const lost = this.#tallies.size;
    if (lost > 0) logger.error('Entries of the audit log are lost.', { instance: id, lost });
  }

  #tallyOf(actor: WrittenActor, entry: AuditEntry, nowMs: number): Tally {
    const number = Math.floor(nowMs / minuteMs);
    if (number !== this.#minute.number) this.#minute = { number, ids: new Set() };
    const { ids } = this.#minute;
    const id = tallyId(number, actor, entry);
    const isRoom = ids.has(id) || ids.size < auditLimits.talliesMax;
    if (isRoom) ids.add(id);
    const common = { firstMs: nowMs, lastMs: nowMs, count: 1 };
    if (isRoom) return { id, entry, actor, ...common };
    const { action, outcome = 'done' } = entry;
    const many = { kind: actor.kind, id: '', address: '', requestId: '' };
    return {
      id: tallyId(number, many, { action, outcome }),
      entry: { action, outcome },
      actor: many,
      ...common,
    };
  }

  #wake(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#written = this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    let isWritten: boolean;
    do {
      isWritten = await this.#write();
      await this.#pause(isWritten ? this.#pauseMs : this.#pauseMs * failurePauses);
    } while (this.#tallies.size > 0 && (isWritten || !this.#isSettling));
    // No await since the check of the loop: an entry noted from now on wakes the writer again.
    this.#isWriting = false;
  }

  async #write(): Promise<boolean> {
    const nowMs = this.#instance.clock.now();
    const { database, auditDays } = this.#instance;
    const isPruneDue = this.#isPruneDue(nowMs);
    // The same order on every node prevents deadlocks on row locks.
    const waiting = [...this.#tallies].toSorted(([one], [other]) => (one < other ? -1 : 1));
    const tallies = new Map(waiting.splice(0, auditLimits.writtenTogetherMax));
    this.#tallies = new Map(waiting);
    try {
      await database.write(async (tx) => {
        for (const tally of tallies.values()) await insert(tx, tally, 'tallied');
        if (isPruneDue) await pruneAudit(tx, { nowMs, days: auditDays });
      });
      if (isPruneDue) this.#prunedMs = nowMs;
      return true;
    } catch (error) {
      const { id, logger } = this.#instance;
      const seconds = (this.#pauseMs * failurePauses) / 1_000;
      const message = `The audit log could not be written; trying again in ${seconds} s at the latest.`;
      logger.warn(message, { instance: id, error });
      for (const tally of this.#tallies.values()) merge(tallies, tally);
      this.#tallies = tallies;
      return false;
    }
  }

  #isPruneDue(nowMs: number): boolean {
    return Math.abs(nowMs - this.#prunedMs) >= minuteMs;
  }

  async #pause(pauseMs: number): Promise<void> {
    if (this.#isSettling) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs).unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Returns an id that is equal on every node, so that the counts of all nodes add up in one row. */
function tallyId(minute: number, { kind, id, address }: WrittenActor, entry: AuditEntry): string {
  return digest(JSON.stringify([minute, kind, id, address, entry]));
}

function merge(tallies: Map<string, Tally>, tally: Tally): void {
  const current = tallies.get(tally.id);
  if (current !== undefined) {
    current.count += tally.count;
    current.lastMs = tally.lastMs;
  } else if (tallies.size < auditLimits.unwrittenMax) tallies.set(tally.id, tally);
}

async function insert(tx: Transaction, row: Tally, kind: 'once' | 'tallied'): Promise<void> {
  const { id, entry, actor, count } = row;
  const { action, outcome = 'done', collection = '', target = '', details = {} } = entry;
  const table = tx.names.table('$audit');
  const text = JSON.stringify(details);
  const detailsText = Buffer.byteLength(text) <= auditLimits.detailsBytesMax ? text : '{"isTooLong":true}';
  const insertion = sql`
    INSERT INTO ${table} AS known (${tx.names.instance.column}id, tallied, created, until, count, action, outcome, actor, actor_id,
      address, request, collection, target, details)
    VALUES (${tx.names.instance.value}${id}, ${kind === 'tallied' ? 1 : 0}, ${toTimestamp(row.firstMs)}, ${toTimestamp(row.lastMs)},
      ${count}, ${action}, ${outcome}, ${actor.kind}, ${actor.id}, ${actor.address}, ${actor.requestId}, ${collection}, ${target},
      ${detailsText})`;
  if (kind === 'once') await tx.run(insertion);
  else
    await tx.run(sql`${insertion} ON CONFLICT (${tx.names.instance.column}id) DO UPDATE SET
      count = known.count + excluded.count, until = CASE WHEN known.until < excluded.until THEN excluded.until ELSE known.until END`);
}

/** Limit for tallied rows, which strangers can cause; the oldest beyond it are deleted. Other entries are deleted by age alone. */
export const auditTalliesMax = 100_000;
/** Rows deleted at a time: more than can be added until the next time, and few enough not to delay other work. */
const prunedMax = 2_000;
const dayMs = 86_400_000;

/** Deletes entries older than `days`, and tallied rows beyond their limit. With `days` 0 no entry is too old. */
async function pruneAudit(
  tx: Transaction,
  { nowMs, days }: { readonly nowMs: number; readonly days: number },
): Promise<void> {
  const { names } = tx;
  const table = names.table('$audit');
  if (days > 0)
    await tx.run(sql`
      DELETE FROM ${table} WHERE ${names.instance.condition} AND id IN (
        SELECT id FROM ${table} WHERE ${names.instance.condition} AND created < ${toTimestamp(nowMs - days * dayMs)}
        ORDER BY created LIMIT ${prunedMax}${names.locks.skipLocked})`);
  await tx.run(sql`
    DELETE FROM ${table} WHERE ${names.instance.condition} AND id IN (
      SELECT id FROM ${table} WHERE ${names.instance.condition} AND tallied = 1
      ORDER BY position DESC LIMIT ${prunedMax} OFFSET ${auditTalliesMax}${names.locks.skipLocked})`);
}
