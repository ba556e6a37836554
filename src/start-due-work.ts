import { fromTimestamp } from './base/timestamp.ts';
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/logger.ts';
import { hasDueMails } from './deliveries/alert-mails.ts';
import { readCertificatesDue } from './deliveries/certificate-alerts.ts';
import { readWebhooksDue } from './deliveries/read-webhooks-due.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import type { Janitor } from './dispatch/janitor.ts';
import { type FileSweeper, readFilesDue } from './files/file-sweeper.ts';
import type { DueIndex, DueTimes } from './instances/due-index.ts';
import { DueWork } from './instances/due-work.ts';
import type { Instance } from './instances/instance.ts';
import type { InstanceDirectory } from './instances/instance-directory.ts';
import type { OpenInstances } from './instances/open-instances.ts';
import type { RemovalRunner } from './records/removal-runner.ts';
import { hasJobs } from './records/removal-store.ts';
import { limit, sql } from './sql/sql.ts';
import type { DataHome } from './storage/data-home.ts';
import type { Reader } from './storage/database.ts';

const dayMs = 86_400_000;
/** A log that is trimmed is left alone for so long. */
const trimmedMs = 3_600_000;
/** How soon an instance is opened again in which webhooks are due that the dispatcher does not know. */
const unknownMs = 60_000;

/** Returns what is due in an instance that nobody uses. `webhookDays` is how long the log of events is kept; 0 for ever. */
export async function readDueTimes(instance: Instance, webhookDays: number): Promise<DueTimes> {
  const { database, files, dueClock } = instance;
  const upkeep = Math.min(
    await readCertificatesDue(instance),
    await readFilesDue(database, files.uploadFolder),
    (await hasJobs(database)) ? 0 : Number.POSITIVE_INFINITY,
    (await hasDueMails(database)) ? dueClock.now() + trimmedMs : Number.POSITIVE_INFINITY,
    Math.max(await readTrimDue(database, webhookDays), dueClock.now() + trimmedMs),
  );
  return {
    webhooks: await readWebhooksDue(database),
    upkeep: upkeep === Number.POSITIVE_INFINITY ? undefined : Math.ceil(upkeep),
  };
}

/** Returns when the first event is too old to be kept; infinity for never. */
async function readTrimDue(reader: Reader, webhookDays: number): Promise<number> {
  const { names } = reader;
  const [first] = await reader.tuples(sql`
    SELECT created FROM ${names.table('$event')} WHERE ${names.instance.condition} ORDER BY position${limit(1)}`);
  if (webhookDays === 0 || first === undefined) return Number.POSITIVE_INFINITY;
  return fromTimestamp(String(first[0])) + webhookDays * dayMs;
}

/** How webhooks of instances that are not open are woken. */
export interface DeliveringWork {
  readonly dispatcher: Pick<Dispatcher, 'nextDue' | 'noteDue'>;
  readonly janitor: Pick<Janitor, 'visit'>;
}

/** Wakes the upkeep of an instance: files to remove, deletes in steps, a log to trim. */
export function wakeUpkeep(
  id: string,
  { fileSweeper, removals }: { readonly fileSweeper: FileSweeper; readonly removals: RemovalRunner },
  { janitor }: Pick<DeliveringWork, 'janitor'>,
): void {
  fileSweeper.note(id, 0);
  removals.wake(id);
  janitor.visit(id);
}

/** Returns when an instance is to be opened again for webhooks that are due at `due`, and that whoever has closed it does not know. */
export function dueIfUnknown(due: number, now: number): number {
  return Math.max(due, now + unknownMs);
}

/** Begins to wake the instances of a data directory in which something is due. */
export async function startDueWork(
  parts: {
    readonly home: DataHome;
    readonly index: DueIndex;
    readonly directory: InstanceDirectory;
    readonly instances: OpenInstances;
    readonly fileSweeper: FileSweeper;
    readonly removals: RemovalRunner;
    readonly clock: Clock;
    readonly logger: Logger;
  },
  delivering: DeliveringWork,
): Promise<DueWork> {
  const { home, instances } = parts;
  const { dispatcher } = delivering;
  const work = new DueWork({
    ...parts,
    onWebhooks: (id, due) => dispatcher.noteDue(id, due),
    onChanged: (id) => home.refresh(id),
    onUpkeep: (id) => wakeUpkeep(id, parts, delivering),
  });
  instances.onClosed((id, times) => {
    work.noteClosed(id, times);
    // The dispatcher knows better when, unless it was never told: then the data was restored, say.
    if (times.webhooks === undefined || dispatcher.nextDue(id) !== undefined) return;
    dispatcher.noteDue(id, dueIfUnknown(times.webhooks, parts.clock.now()));
  });
  await work.start();
  return work;
}
