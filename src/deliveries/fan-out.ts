import type { Clock } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import type { Collections } from '../collections/collection-store.ts';
import {
  type Event,
  isOperational,
  isTransition,
  type NewEvent,
  type RecordChange,
} from '../events/event.ts';
import { fieldType } from '../fields/field-types.ts';
import type { SettingsStore } from '../settings/settings-store.ts';
import { sql } from '../sql/sql.ts';
import type { DependentRows, InlineColumn, Transaction } from '../storage/database.ts';
import { type ConditionAnswers, hasConditions, meetConditions } from '../endpoints/endpoint-conditions.ts';
import type { EndpointStore } from '../endpoints/endpoint-store.ts';
import { type Endpoint, wants } from '../endpoints/endpoint.ts';
import { decideTransitions, storeMoves, transitionsOf } from './transitions.ts';

export interface Addressing {
  readonly endpoints: EndpointStore;
  readonly settings: SettingsStore;
  readonly collections: Collections;
  readonly clock: Clock;
}

/**
 * Returns the events that a change causes: its own with the endpoints whose conditions it meets, and the previous values where one of them
 * sends these; and those of the endpoints for which it is a transition. None where the instance logs only events with a recipient, and this
 * has none. Endpoints of accounts are matched later, from the log (accounts/): a write neither evaluates their conditions nor waits for them.
 */
export async function addressEvent(
  tx: Transaction,
  event: NewEvent,
  { change, endpoints, settings, collections, clock }: Addressing & { readonly change: RecordChange },
): Promise<readonly NewEvent[]> {
  const { all, unowned, owned } = await endpoints.byOwner(tx);
  const subscribers = unowned.filter((endpoint) => wants(endpoint, event));
  const conditional = subscribers.filter(hasConditions);
  const answers =
    conditional.length === 0
      ? { matches: [], holders: [] }
      : await meetConditions(tx, conditional, { change, collections, now: clock.now() });
  const { matches, transitions } = conditional.some((endpoint) => endpoint.transitions)
    ? await decideMoves(tx, event, { change, conditional, answers })
    : { matches: answers.matches, transitions: [] };
  const hasRecipient = subscribers.length > conditional.length || matches.length > 0;
  if (!hasRecipient) {
    // A record may enter or leave what an endpoint matches because of another: see replays/reconcile-watch.ts.
    const isKept =
      settings.current.webhooks.events === 'always' ||
      owned.some((one) => wants(one, event)) ||
      all.some((one) => one.transitions);
    return isKept ? [event, ...transitions] : transitions;
  }
  const { context } = event;
  const addressed = matches.length === 0 ? event : { ...event, recipients: matches };
  if (context?.changed === undefined || !subscribers.some(({ payload }) => payload === 'previous'))
    return [addressed, ...transitions];
  const previous = valuesBefore(change, context.changed);
  return [{ ...addressed, context: { ...context, previous } }, ...transitions];
}

/** Decides what the change is for endpoints with transitions, and stores what they hold from now on. */
async function decideMoves(
  tx: Transaction,
  event: NewEvent,
  {
    change,
    conditional,
    answers,
  }: {
    readonly change: RecordChange;
    readonly conditional: readonly Endpoint[];
    readonly answers: ConditionAnswers;
  },
): Promise<{ readonly matches: readonly number[]; readonly transitions: readonly NewEvent[] }> {
  const { recipients, ...moves } = decideTransitions(conditional, event.kind, answers);
  await storeMoves(tx, event, moves);
  return { matches: recipients, transitions: transitionsOf(event, change, moves) };
}

function valuesBefore({ collection, before = [] }: RecordChange, names: readonly string[]): JsonObject {
  const members = collection.fields.flatMap((field, index) =>
    names.includes(field.name)
      ? [[field.name, JSON.parse(fieldType(field).toJson(before[index] ?? null, field.options))] as const]
      : [],
  );
  return Object.fromEntries(members);
}

/**
 * The event log's listener: inserts one delivery for each subscribed endpoint without owner, in the transaction of the record, and one of a
 * transition for each endpoint that it names. A delivery is two numbers, the position of the event and the number of the endpoint, and never changes.
 */
export async function fanOut(
  tx: Transaction,
  events: readonly Event[],
  endpoints: EndpointStore,
): Promise<DependentRows> {
  const { names } = tx;
  const { all, unowned } = await endpoints.byOwner(tx);
  const receivers = events.some(({ kind }) => isTransition(kind)) ? all : unowned;
  return {
    into: sql`INSERT INTO ${names.table('$delivery')} (${names.instance.column}event, endpoint)`,
    row: sql`${names.instance.value}inserted.position, CAST(given.endpoint AS bigint)`,
    columns: valueColumns,
    runs: receivers.flatMap((endpoint) => runsOf(endpoint, events)),
  };
}

const valueColumns: readonly InlineColumn[] = [['endpoint', 'number']];

/** Adjacent events that an endpoint receives: the indexes of the first and the last of them. */
interface Run {
  readonly first: number;
  last: number;
  readonly values: readonly [endpoint: number];
}

function runsOf(endpoint: Endpoint, events: readonly Event[]): readonly Run[] {
  const runs: Run[] = [];
  for (const [place, event] of events.entries()) {
    if (!isRecipient(endpoint, event)) continue;
    const before = runs.at(-1);
    if (before?.last === place - 1) before.last = place;
    else runs.push({ first: place, last: place, values: [endpoint.number] });
  }
  return runs;
}

function isRecipient(endpoint: Endpoint, event: Event): boolean {
  const isNamed = event.recipients?.includes(endpoint.number) === true;
  if (isTransition(event.kind)) return isNamed;
  if (endpoint.owner !== '' || !wants(endpoint, event)) return false;
  // A condition is about records.
  return isNamed || !hasConditions(endpoint) || isOperational(event.kind);
}

/** Inserts a delivery of the event that this transaction appended last; the transaction must not be a shared one. */
export async function insertDeliveryOfLastEvent(tx: Transaction, endpoint: number): Promise<number> {
  const { names } = tx;
  const [row] = await tx.returning(sql`
    INSERT INTO ${names.table('$delivery')} (${names.instance.column}event, endpoint)
    VALUES (${names.instance.value}${names.lastPosition}, ${endpoint}) RETURNING event`);
  return Number(row?.[0]);
}
