import { AppError } from '../../base/errors.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import type { Collection } from '../../collections/collection.ts';
import { type EventContext, readContext } from '../../events/event-context.ts';
import {
  isOperational,
  isTest,
  isTransition,
  kindForReceivers,
  kindOfBody,
  payloadOf,
} from '../../events/event.ts';
import { eventValues } from '../../events/event-values.ts';
import { mayTell } from '../../events/may-tell.ts';
import { never } from '../../filters/compile/compile.ts';
import { sql } from '../../sql/sql.ts';
import type { Tuple } from '../../storage/database.ts';
import { type PendingDelivery, thinBody } from '../deliveries.ts';
import { ownerCondition } from '../../endpoints/endpoint-conditions.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

/**
 * Past events for accounts: in a replay, a retry, a backlog that is sent after a pause, the signed feed, and the log.
 * Whatever they could view then, they get only what they may still view (events/may-tell.ts), as it is now.
 *
 * Endpoints without owner get the same bytes each time.
 */

/** A younger event is sent as it is: it is not past yet. */
const promptMs = 10_000;
/** The timeout of the view rule of one record. */
export const ruleMsMax = 1_000;

/** Whether a delivery whose turn it is has a past event: it was attempted or delayed before, or its endpoint was changed or resumed since. */
export function isSentAgain(
  { owner, updated }: Pick<Endpoint, 'owner' | 'updated'>,
  { kind, state, created }: PendingDelivery,
  now: number,
): boolean {
  if (owner === '' || isTest(kind) || isOperational(kind)) return false;
  return state.attempts > 0 || created < updated || now - fromTimestamp(created) > promptMs;
}

/** The content that replaces the body of a past event. */
export interface PastMessage {
  readonly body: Uint8Array;
  readonly isThin: boolean;
  readonly context: EventContext | undefined;
}

type PastInstance = Pick<
  WebhookInstance,
  'shownId' | 'database' | 'collections' | 'records' | 'clock' | 'bodyBytesMax'
>;

/**
 * Returns what an account gets of the event at this position; undefined where that is nothing. An endpoint with transitions is told to delete
 * only what it holds, so it learns no more by the id. Throws the errors of the rule's statement.
 */
export async function pastMessage(
  instance: PastInstance,
  { owner, transitions = false }: Pick<Endpoint, 'owner'> & Partial<Pick<Endpoint, 'transitions'>>,
  position: number,
): Promise<PastMessage | undefined> {
  const { database, collections } = instance;
  const { names } = database;
  const [row] = await database.tuples(sql`
    SELECT kind, collection, collection_name, record, revision, created, hidden, context, body FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND position = ${position} AND expunged IS NULL`);
  if (row === undefined) return undefined;
  const event = toEvent(row);
  // A test has the name of the collection alone.
  const collection = collections.find(event.collection || event.collectionName);
  if (collection === undefined) return undefined;
  if (transitions && kindForReceivers(event.kind) === 'record.delete') return idOf(instance, event);
  // Only an endpoint with transitions learns that a record has left what it may view.
  if (event.kind === 'leave') return undefined;
  const isDelete = event.kind === 'record.delete';
  const present = await presentOf(instance, collection, event.record);
  const now = present && { revision: present.about.revision, values: present.change.after };
  const { values, isWhole } = eventValues(collection, event);
  const context = { collections, names, now: instance.clock.now() };
  const condition = ownerCondition(owner, collection, context) ?? never;
  const telling = await mayTell(
    database,
    { condition, timeoutMs: ruleMsMax },
    {
      collection,
      isDelete,
      revision: event.revision,
      atChange: isWhole ? { values } : undefined,
      now,
    },
  );
  if (telling === 'id') return idOf(instance, event);
  if (telling !== 'present' || present === undefined) return undefined;
  const body = Buffer.from(payloadOf({ ...event, dataJson: present.about.dataJson }, instance.shownId));
  const isThin = body.length > instance.bodyBytesMax;
  return {
    body: isThin ? thinBody(event, instance.shownId) : body,
    isThin,
    context: visibleContext(event, collection),
  };
}

function idOf({ shownId }: PastInstance, event: LoggedEvent): PastMessage {
  const context = isTransition(event.kind) ? event.context : undefined;
  return { body: thinBody(event, shownId), isThin: false, context };
}

interface LoggedEvent {
  readonly kind: string;
  readonly collection: string;
  readonly collectionName: string;
  readonly record: string;
  readonly revision: number;
  readonly created: string;
  readonly hidden: string | null;
  readonly context: EventContext | undefined;
  readonly body: Uint8Array;
}

function toEvent([
  kind,
  collection,
  collectionName,
  record,
  revision,
  created,
  hidden,
  context,
  stored,
]: Tuple): LoggedEvent {
  // The column is a BLOB and never null.
  const body = stored as Uint8Array;
  return {
    kind: kind === 'test' ? kindOfBody(body) : String(kind),
    collection: String(collection),
    collectionName: String(collectionName),
    record: String(record),
    revision: Number(revision),
    created: String(created),
    hidden: typeof hidden === 'string' ? hidden : null,
    context: readContext(context),
    body,
  };
}

/** A collection that was deleted a moment ago has no records. */
async function presentOf(
  { records }: PastInstance,
  { id }: Collection,
  record: string,
): ReturnType<PastInstance['records']['present']> {
  try {
    return await records.present(id, record);
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** The names of fields that are hidden by now are left out too. */
function visibleContext({ context }: LoggedEvent, { fields }: Collection): EventContext | undefined {
  if (context?.changed === undefined) return context;
  const visible = new Set(fields.flatMap(({ name, hidden }) => (hidden ? [] : [name])));
  return { ...context, changed: context.changed.filter((name) => visible.has(name)) };
}
