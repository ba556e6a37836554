import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type ErrorCode, type FieldErrors } from '../base/errors.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { changesOf, kindOfPart, type SchemaChange } from '../definitions/schema-changes.ts';
import { type InstanceEntry, suspendedText } from '../instances/instance-rows.ts';
import type { InstanceCalls } from './instance-calls.ts';
import { entryOf, findManaged } from './managed-instances.ts';
import type { OperatorControl } from './operator-control.ts';
import { skippedError } from './schema-jobs.ts';
import type { HeldSchemaJob, SchemaOutcome, SchemaTask } from './schema-work.ts';

/** What becomes of a collection of an instance. Of a change: the names of what is added, changed and removed, as `field title`. */
export interface SchemaChangeView {
  readonly collection: string;
  readonly change: SchemaChange['change'];
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** Why an instance failed or was skipped. */
export interface SchemaError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: FieldErrors;
}

/** How often an instance is tried that cannot answer at the moment. */
const triesMax = 4;
const pauseMs = 500;
/** Characters of JSON that are kept of the changes of an instance, and of the details of its error. */
const textLengthMax = 32 * 1024;

export interface SchemaApplication {
  readonly operator: OperatorControl;
  readonly calls: InstanceCalls;
  readonly job: HeldSchemaJob;
  /** The body of the import. */
  readonly body: JsonObject;
  /** Notes what is about to be changed; false where that may not be any more. */
  readonly onChange: (changes: string) => Promise<boolean>;
  readonly logger: Logger;
  /** Whoever applies is to stop. */
  readonly signal: AbortSignal;
}

/**
 * Brings an instance to the definitions by its own import, or says with `dryRun` what that would do. An instance that has them gets no
 * import. Returns undefined where it was not done: whoever applies is to stop, or does not hold the job any more.
 */
export async function applySchema(
  application: SchemaApplication,
  task: SchemaTask,
): Promise<SchemaOutcome | undefined> {
  for (let count = 1; ; count += 1) {
    try {
      return await applyOnce(application, task);
    } catch (error) {
      if (application.signal.aborted) return undefined;
      const isPassing = error instanceof AppError && passing.includes(error.code);
      if (!isPassing || count === triesMax) return failure(application, task, error);
      await sleep(pauseMs * 2 ** count, undefined, { signal: application.signal }).catch(() => undefined);
    }
  }
}

/** Errors that another try may not get. */
const passing: readonly ErrorCode[] = ['unavailable', 'too_many_requests', 'outcome_unknown', 'conflict'];

async function applyOnce(
  { operator, calls, job, body, onChange }: SchemaApplication,
  { instance, begun }: SchemaTask,
): Promise<SchemaOutcome | undefined> {
  const entry = await findEntry(operator, instance);
  if (typeof entry === 'string') return { state: 'skipped', changes: '', error: skippedError(entry) };
  const plan = (query: Readonly<Record<string, string>> = {}): Promise<unknown> =>
    calls.call(entry, { operation: 'planImport', query, body });
  const changes = viewsOf(await plan());
  if (changes.length === 0) {
    // Where the holder ended right after the import, this job has made the changes.
    return { state: begun === '' ? 'unchanged' : 'changed', changes: begun, error: '' };
  }
  if (job.dryRun) {
    const checked = viewsOf(await plan({ checkRecords: 'true' }));
    return { state: 'changed', changes: changesJson(checked), error: '' };
  }
  const json = changesJson(changes);
  if (!(await onChange(json))) return undefined;
  await calls.call(entry, { operation: 'importCollections', body });
  return { state: 'changed', changes: json, error: '' };
}

/** Returns the entry of an instance, or why it is to be skipped. */
async function findEntry(operator: OperatorControl, id: string): Promise<InstanceEntry | string> {
  try {
    const managed = await findManaged(operator, id);
    return managed.state === 'active' ? await entryOf(operator, managed) : skipReasons[managed.state];
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return skipReasons.deleted;
    throw error;
  }
}

const skipReasons = {
  suspended: suspendedText,
  replacing: 'A backup is being restored in the place of the instance.',
  deleted: 'The instance is deleted.',
} as const;

function viewsOf(plan: unknown): readonly SchemaChangeView[] {
  return isJsonObject(plan) ? changesOf(plan).map(toView) : [];
}

function toView({ change, name, parts }: SchemaChange): SchemaChangeView {
  const named = (kind: SchemaChange['change']): readonly string[] => [
    ...new Set(parts.filter((part) => kindOfPart(part) === kind).map(({ part }) => part)),
  ];
  return {
    collection: name,
    change,
    added: named('create'),
    changed: named('change'),
    removed: named('delete'),
  };
}

/** Returns as many of the changes as are kept. */
function changesJson(views: readonly SchemaChangeView[]): string {
  const texts: string[] = [];
  let length = 0;
  for (const view of views) {
    const json = JSON.stringify(view);
    length += json.length;
    if (length > textLengthMax && texts.length > 0) break;
    texts.push(json);
  }
  return `[${texts.join(',')}]`;
}

function failure(
  { job, logger }: SchemaApplication,
  { instance }: SchemaTask,
  error: unknown,
): SchemaOutcome {
  if (error instanceof AppError) {
    const { code, message, details } = error;
    const isLong = JSON.stringify(details).length > textLengthMax;
    return failedWith({ code, message, details: isLong ? {} : details });
  }
  logger.error('Definitions could not be applied to an instance.', { job: job.id, instance, error });
  const message = 'It failed: see the log of the service.';
  return failedWith({ code: 'outcome_unknown', message, details: {} });
}

function failedWith(error: SchemaError): SchemaOutcome {
  return { state: 'failed', changes: '', error: JSON.stringify(error) };
}
