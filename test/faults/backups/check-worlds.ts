import { type BackupWrite, eventKey } from './backup-writers.ts';
import { deliveryKey, type World, type WorldEvent } from './worlds.ts';

/** A backup that a run has made. */
export interface BackupMade {
  readonly name: string;
  /** The id of the instance that it is of. */
  readonly source: string;
  /** When it was asked for, and when its answer or the death of its process was known: its moment is in between. */
  readonly startMs: number;
  readonly endMs: number;
  /** What was settled before as delivered. */
  readonly delivered: ReadonlySet<string>;
}

/** A restore that is in force. */
export interface Swap {
  /** Frozen from then on. */
  readonly old: World;
  readonly restored: World;
  /** The instance that the backup is of. */
  readonly source: World;
  readonly backup: BackupMade;
}

type Report = (text: string) => void;

/** The range of positions that a restore has lost, which is empty where it has lost none. */
export function lostBy({ old, restored, source }: Omit<Swap, 'backup'>): {
  readonly after: number;
  readonly through: number;
} {
  const range = restored.lost.at(-1);
  const isOfBackup = source.lost.some(
    ({ after, through }) => after === range?.after && through === range.through,
  );
  if (range !== undefined && !isOfBackup) return range;
  const last = lastOf(old);
  return { after: last, through: last };
}

function lastOf({ events }: World): number {
  return events.at(-1)?.position ?? 0;
}

/** The restored world is the backup's moment, and what was written since; what it has lost has all been noted as lost. */
export function checkSwap(swap: Swap, writes: readonly BackupWrite[], report: Report): void {
  const { old, restored, source, backup } = swap;
  const { after, through } = lostBy(swap);
  if (lastOf(old) > through)
    report(
      `something was written to the replaced instance at ${lastOf(old)}, after it was read to ${through}`,
    );
  const before = (events: readonly WorldEvent[]): string =>
    events
      .filter(({ position }) => position <= after)
      .map(({ position, id }) => `${position} ${id}`)
      .join('\n');
  if (before(source.events) !== before(restored.events))
    report(`the restored log differs from that of the backup up to ${after}`);
  const inGap = restored.events.find(({ position }) => position > after && position <= through);
  if (inGap !== undefined) report(`the event ${inGap.id} has the position ${inGap.position}, which was lost`);
  const positions = new Map(source.events.map((event) => [eventKey(event), event.position]));
  for (const { key, status, startMs, endMs } of writes) {
    const position = positions.get(key);
    if (position === undefined) continue;
    if (isAcknowledged(status) && endMs < backup.startMs && position > after)
      report(`${key} was acknowledged before the backup ${backup.name} and is not in it`);
    if (startMs > backup.endMs && position <= after)
      report(`${key} was written after the backup ${backup.name} and is in it`);
  }
}

/** Records are what their events have made of them. */
export function checkRecords({ events, records }: World, report: Report): void {
  const expected = new Map<string, string>();
  for (const { kind, record, title } of events)
    if (kind === 'record.delete') expected.delete(record);
    else expected.set(record, title);
  for (const [id, title] of expected)
    if (records.get(id)?.title !== title)
      report(`the record ${id} is ${records.get(id)?.title ?? 'missing'}, and its last event says ${title}`);
  for (const id of records.keys()) if (!expected.has(id)) report(`the record ${id} has no event`);
}

/** An instance that was or is in force. */
export interface KnownWorld {
  readonly world: World;
  /** When another one was known to have taken its place; undefined for the last one. */
  readonly replacedMs: number | undefined;
}

/** Every acknowledged write is in a world that was in force when it was asked for, or later. */
export function checkWrites(
  writes: readonly BackupWrite[],
  worlds: readonly KnownWorld[],
  report: Report,
): void {
  const keys = worlds.map(({ world, replacedMs }) => ({
    replacedMs: replacedMs ?? Infinity,
    of: new Set(world.events.map(eventKey)),
  }));
  for (const { key, status, startMs } of writes) {
    if (!isAcknowledged(status)) continue;
    const holders = keys.filter(({ of }) => of.has(key));
    if (holders.length === 0) report(`${key} was acknowledged, and no instance has it`);
    else if (!holders.some(({ replacedMs }) => startMs <= replacedMs))
      report(`${key} was acknowledged after the restore, and only the replaced instance has it`);
  }
}

export function isAcknowledged(status: number): boolean {
  return status >= 200 && status < 300;
}

/**
 * Why a delivery that a receiver has taken may come again after a restore. `inFlight`: its outcome was not committed when the instance was
 * replaced. `unknown`: the replaced instance had no such event, as an older backup was restored to it, and the outcome is younger than the backup.
 */
export function repeatReason(
  { old, restored, backup }: Swap,
  key: string,
): 'inFlight' | 'unknown' | undefined {
  const [eventId = ''] = key.split(' ');
  if (old.events.some(({ id }) => id === eventId)) return old.delivered.has(key) ? undefined : 'inFlight';
  const isRestored = restored.events.some(({ id }) => id === eventId);
  return isRestored && !backup.delivered.has(key) ? 'unknown' : undefined;
}

/** Every event of the last world was taken by each receiver, and nothing was taken more often than it may be. */
export function checkDeliveries(
  { events }: World,
  {
    receivers,
    taken,
    allowed,
  }: {
    readonly receivers: readonly string[];
    /** How often each delivery was taken. */
    readonly taken: ReadonlyMap<string, number>;
    /** How often more than once. */
    readonly allowed: (key: string) => number;
  },
  report: Report,
): void {
  for (const { id, position } of events)
    for (const receiver of receivers)
      if (!taken.has(deliveryKey(id, receiver)))
        report(`the event ${id} at ${position} was not delivered to ${receiver}`);
  for (const [key, count] of taken)
    if (count > 1 + allowed(key))
      report(`${key} was delivered ${count} times, and at most ${1 + allowed(key)} are explained`);
}
