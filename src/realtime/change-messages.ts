import { unlessBroken } from '../access/rule.ts';
import type { Collection } from '../collections/collection.ts';
import { constantOf, never } from '../filters/compile/compile.ts';
import type { Instance } from '../instances/instance.ts';
import { eventRecord } from '../records/event-record.ts';
import type { StoredRecord } from '../records/record.ts';
import type { Sql } from '../sql/sql.ts';
import { type Audience, conditionFor, evaluateAll, jsonFor } from './audience.ts';
import { type Change, readStateBefore } from './read-changes.ts';

/** A message about a change: its action, and JSON text of the record. */
export interface ChangeMessage {
  readonly action: Change['action'] | RealtimeTransition | 'resync';
  readonly json: string;
}

/**
 * What an update is to a subscription with transitions. Unlike an endpoint's (deliveries/transitions.ts), it follows from the states before
 * and after the update, as the service does not know which records a client has.
 */
type RealtimeTransition = 'enter' | 'leave';

/** Sent where a client that is to leave a record may not learn its id: it reads its records again. */
export const resync: ChangeMessage = { action: 'resync', json: '{}' };

export interface ChangedRecord {
  readonly action: Change['action'];
  readonly id: string;
  /** As the change left it. */
  readonly record: StoredRecord;
  /** As it was before an update; undefined where the log does not have that any more. */
  readonly before: StoredRecord | undefined;
}

/**
 * Returns the messages of audiences about a change that happens now; undefined for those that get none: the record does not match their rule
 * and filter and, with transitions, did not before. A leave has the state before the update, which the audience was allowed to see.
 */
export async function messagesTo(
  instance: Instance,
  audiences: readonly Audience[],
  change: ChangedRecord,
): Promise<readonly (ChangeMessage | undefined)[]> {
  const { id, record, before } = change;
  const conditions = await Promise.all(
    audiences.map((audience) => conditionFor(instance, audience, record.collection)),
  );
  const matches = await evaluateAll(instance, record, conditions);
  const watched = conditions.map((condition, index) =>
    change.action === 'update' && audiences[index]?.topic.transitions === true ? condition : never,
  );
  const earlier = await matchesBefore(instance, before, watched);
  const actions = audiences.map(({ topic }, index) => {
    const isMatch = matches[index] === true;
    if (change.action === 'update' && topic.transitions) return updateAction(isMatch, earlier[index]);
    return isMatch ? change.action : undefined;
  });
  const unknown = audiences.filter((_, index) => actions[index] === 'leave' && before === undefined);
  const informed = new Set(await maySeeBy(instance, unknown, record));
  const messages = audiences.map(async (audience, index): Promise<ChangeMessage | undefined> => {
    const action = actions[index];
    if (action === undefined) return undefined;
    if (action === 'leave' && before === undefined) return informed.has(audience) ? leaveById(id) : resync;
    const state = action === 'leave' && before !== undefined ? before : record;
    const json = await unlessBroken(instance, undefined, () => jsonFor(instance, audience, state));
    if (json === undefined) return action === 'leave' ? leaveById(id) : undefined;
    return { action, json };
  });
  return Promise.all(messages);
}

/** Returns of each condition whether it was true before an update; undefined where that is unknown. */
export async function matchesBefore(
  instance: Instance,
  before: StoredRecord | undefined,
  conditions: readonly Sql[],
): Promise<readonly (boolean | undefined)[]> {
  return before === undefined ? conditions.map(constantOf) : evaluateAll(instance, before, conditions);
}

/** An enter is right as well for a client that has the record already, and a leave for one that does not. */
export function updateAction(
  isMatch: boolean,
  wasMatch: boolean | undefined,
): 'update' | RealtimeTransition | undefined {
  if (isMatch) return wasMatch === true ? 'update' : 'enter';
  return wasMatch === false ? undefined : 'leave';
}

/** Returns those of the audiences whose rule is true of a record, whatever their filter. */
export async function maySeeBy(
  instance: Instance,
  audiences: readonly Audience[],
  record: StoredRecord,
): Promise<readonly Audience[]> {
  const conditions = await Promise.all(
    audiences.map(({ topic, caller }) =>
      conditionFor(instance, { caller, topic: { ...topic, filter: undefined } }, record.collection),
    ),
  );
  const answers = await evaluateAll(instance, record, conditions);
  return audiences.filter((_, index) => answers[index] === true);
}

export function leaveById(id: string): ChangeMessage {
  return { action: 'leave', json: JSON.stringify({ id }) };
}

/** Returns a record before an update; undefined where the log does not have that state, or not all fields of today's definition. */
export async function stateBefore(
  { database }: Instance,
  collection: Collection,
  change: Change,
): Promise<StoredRecord | undefined> {
  const state = await readStateBefore(database, change);
  return state && eventRecord(collection, state);
}
