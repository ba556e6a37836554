import { hasScope } from '../access/caller.ts';
import { AppError, type FieldError } from '../base/errors.ts';
import { idTime, idAlphabet, randomText } from '../base/ids.ts';
import { readDate } from '../base/read-date.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import type { EventState } from '../events/event-values.ts';
import {
  type EventChoice,
  findRecordEvent,
  hasRecordEvents,
  readEventsAt,
  type RecordEvent,
} from '../events/record-events.ts';
import { readTrimmed } from '../events/trimmed.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import { createRecord, type PreparedCreate, prepareCreate } from './create-record.ts';
import type { RecordBody } from './decode-record.ts';
import { findRecord, findRecordToChange } from './find-record.ts';
import { loggedCollection } from './record-history.ts';
import { recordTable, relatedIds } from './record-table.ts';
import {
  type ExpectedRevision,
  requireExpected,
  type WriteRequest,
  type WriteScope,
} from './record-write.ts';
import type { StoredRecord } from './record.ts';
import { type ReleasedRecord, releasedBy } from './released-records.ts';
import { lockRelated } from './require-related.ts';
import { type Loss, restoredValues, type RestoredValues } from './restored-values.ts';
import { type PreparedUpdate, prepareUpdate, updateRecord } from './update-record.ts';

export interface RevertRequest {
  readonly collection: string;
  readonly id: string;
  /** The id of an event, a revision, or a time. */
  readonly to: unknown;
  /** Values that are set beside those of the event, and before them. */
  readonly values: RecordBody;
  readonly expected?: ExpectedRevision | undefined;
}

/** A revert whose event is found and whose slow work is done. */
export interface PreparedRevert extends RevertRequest {
  readonly event: RecordEvent;
  /** What is written: an update of the record at this revision, or a record that does not exist. */
  readonly write:
    | { readonly kind: 'update'; readonly prepared: PreparedUpdate; readonly revision: number }
    | { readonly kind: 'create'; readonly prepared: PreparedCreate };
  /** The records that the delete has changed or deleted as well. */
  readonly released: readonly ReleasedRecord[];
}

export interface RevertResult {
  readonly action: 'created' | 'updated' | 'unchanged';
  readonly record: StoredRecord;
  readonly losses: readonly Loss[];
}

/**
 * Finds the state to which a record is reverted. Throws not_found (collection, record), forbidden (reach, scope), bad_request where the log does
 * not have the state.
 */
export async function prepareRevert(context: WriteRequest, request: RevertRequest): Promise<PreparedRevert> {
  const { instance, input } = context;
  const { caller } = input;
  const collection = await loggedCollection(instance, request.collection, caller);
  // The answer shows past values.
  if (!hasScope(caller, 'records:read'))
    throw new AppError('forbidden', 'The API key needs the scope records:read.');
  const { id, values } = request;
  const existing = await findRecord(instance.database, collection, id);
  const event = await findState(instance, collection, { ...request, isDeleted: existing === undefined });
  if (existing !== undefined) {
    const prepared = await prepareUpdate(context, { collection: collection.id, id, body: values });
    return {
      ...request,
      event,
      write: { kind: 'update', prepared, revision: existing.revision },
      released: [],
    };
  }
  const body = { ...newSecrets(collection), ...values, id };
  const prepared = await prepareCreate(context, { collection: collection.id, body });
  return {
    ...request,
    event,
    write: { kind: 'create', prepared },
    released: await releasedBy(instance, collection, id),
  };
}

/**
 * Reverts a record by an ordinary update, or an ordinary create where it was deleted, with its event. Throws precondition_failed where the record
 * has changed since it was looked at, and whatever the update or create throws.
 */
export async function revertRecord(scope: WriteScope, revert: PreparedRevert): Promise<RevertResult> {
  const { instance, tx } = scope;
  const { write, expected, values, event } = revert;
  const collection = instance.collections.get(write.prepared.collection);
  const existing = await findRecordToChange(tx, collection, revert.id);
  if (write.kind === 'update') requireExpected([write.revision], existing);
  requireExpected(expected, existing);
  // It may have been expunged or trimmed meanwhile.
  const [now] = await readEventsAt(tx, [event.position]);
  const state = stateOf(now);
  const restored = await withoutLostRelations(scope, collection, {
    ...restoredValues(collection, state, existing),
    existing,
  });
  const body = { ...restored.body, ...write.prepared.body };
  const losses = restored.losses.filter(({ field }) => !Object.hasOwn(values, field));
  if (write.kind === 'create') {
    const record = await orChanged(createRecord(scope, { ...write.prepared, body }));
    return { action: 'created', record, losses };
  }
  const record = await updateRecord(scope, { ...write.prepared, body });
  const action = record.revision === write.revision ? 'unchanged' : 'updated';
  return { action, record, losses };
}

/** A record that another write has created again meanwhile is a change of the record. */
async function orChanged(create: Promise<StoredRecord>): Promise<StoredRecord> {
  try {
    return await create;
  } catch (error) {
    const isTaken =
      error instanceof AppError &&
      'id' in error.details &&
      error.details['id'].code === 'validation_not_unique';
    if (!isTaken) throw error;
    throw new AppError('precondition_failed', 'The record has changed.', { cause: error });
  }
}

const passwordLength = 40;

/** The log has no passwords: an account that is created again gets a random one that nobody has seen. */
function newSecrets({ type }: Collection): RecordBody {
  if (type !== 'auth') return {};
  const password = randomText(passwordLength, idAlphabet);
  return { password, passwordConfirm: password };
}

interface StateRequest extends Pick<RevertRequest, 'id' | 'to'> {
  readonly isDeleted: boolean;
}

/** Finds the event whose state `to` means. Throws not_found where there is neither a record nor an event of it, bad_request. */
async function findState(
  { database }: Instance,
  { id: collection }: Collection,
  { id, to, isDeleted }: StateRequest,
): Promise<RecordEvent> {
  const choice = choiceOf(to);
  const key = { collection, record: id };
  const position = await findRecordEvent(database, key, choice);
  const [event] = position === undefined ? [] : await readEventsAt(database, [position]);
  if (event === undefined) {
    const isKnown = !isDeleted || (await hasRecordEvents(database, key));
    if (!isKnown) throw new AppError('not_found', 'The event log has nothing of such a record.');
    throw refusedTo(absence(choice, (await readTrimmed(database)).time));
  }
  if (choice.by === 'time' && event.kind === 'record.delete')
    throw refusedTo(`The record did not exist at that time: it was deleted at ${event.created}.`);
  stateOf(event);
  return event;
}

function stateOf(event: RecordEvent | undefined): EventState {
  if (event === undefined) throw refusedTo('The event is not kept any more.');
  if (event.state === undefined)
    throw refusedTo(`The values of this event were expunged at ${event.expunged}.`);
  return event.state;
}

function absence(choice: EventChoice, trimmed: Timestamp): string {
  const notKept = `Events up to ${trimmed} are not kept any more.`;
  switch (choice.by) {
    case 'event': {
      const time = idTime(choice.id);
      const isTrimmed = time !== undefined && toTimestamp(time) <= trimmed;
      return isTrimmed ? notKept : 'There is no such event of this record.';
    }
    case 'revision':
      return `The event log has no revision ${choice.revision} of this record.${trimmed === '' ? '' : ` ${notKept}`}`;
    default:
      return trimmed === ''
        ? 'The event log has no change of this record up to that time.'
        : `The event log has no change of this record up to that time. ${notKept}`;
  }
}

/** Reads what a client means by `to`. Throws bad_request. */
function choiceOf(to: unknown): EventChoice {
  const text = typeof to === 'number' || typeof to === 'string' ? String(to) : '';
  if (/^[1-9]\d{0,14}$/.test(text)) return { by: 'revision', revision: Number(text) };
  if (idTime(text) !== undefined) return { by: 'event', id: text };
  const time = readDate(text) ?? '';
  if (time !== '') return { by: 'time', time };
  throw refusedTo('Expected the id of an event, a revision, or a date such as 2026-11-20 09:35:20.114Z.');
}

function refusedTo(message: string): AppError {
  const details: Readonly<Record<string, FieldError>> = { to: invalidValue(message) };
  return new AppError('bad_request', 'Failed to revert record.', { details });
}

interface Restoring extends RestoredValues {
  readonly existing: StoredRecord | undefined;
}

/** Takes ids of records that do not exist out of the relations, and keeps those that the record has now. */
async function withoutLostRelations(
  scope: WriteScope,
  collection: Collection,
  { body, losses, existing }: Restoring,
): Promise<RestoredValues> {
  const values: Record<string, unknown> = { ...body };
  const lost: Loss[] = [];
  for (const relation of recordTable(collection).relations) {
    const { field, index } = relation;
    const { name, options } = field;
    const { type } = recordTable(collection).fields[index] ?? {};
    if (type === undefined || !Object.hasOwn(body, name)) continue;
    const ids = relatedIds(relation, type.normalise(body[name], options));
    const before = new Set(relatedIds(relation, existing?.values[index] ?? null));
    const added = ids.filter((id) => !before.has(id));
    const present = new Set(added.length === 0 ? [] : await lockRelated(scope, relation, added));
    const missing = added.filter((id) => !present.has(id));
    if (missing.length === 0) continue;
    const message = `Deleted: ${missing.join(', ')}.`;
    lost.push({ field: name, reason: 'relation_gone', message, values: missing });
    const left = ids.filter((id) => !missing.includes(id));
    const isValid = type.check(type.normalise(left, options), options) === undefined;
    if (isValid) values[name] = left;
    else delete values[name];
  }
  return { body: values, losses: [...losses, ...lost] };
}
