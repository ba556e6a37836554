import type { JsonObject } from '../base/json.ts';
import type { Event, NewEvent, RecordChange } from '../events/event.ts';
import { fieldType } from '../fields/field-types.ts';
import type { SettingsStore } from '../settings/settings-store.ts';
import { sql } from '../sql/sql.ts';
import type { DependentRows, InlineColumn, Transaction } from '../storage/database.ts';
import type { EndpointStore } from './endpoints/endpoint-store.ts';
import { type Endpoint, wants } from './endpoints/endpoint.ts';

export interface Addressing {
  readonly endpoints: EndpointStore;
  readonly settings: SettingsStore;
}

/**
 * Returns the event of a change with what only its transaction knows and its receivers ask for. Undefined where the instance keeps only what
 * somebody is told, and nobody is.
 */
export async function addressEvent(
  tx: Transaction,
  event: NewEvent,
  { change, endpoints, settings }: Addressing & { readonly change: RecordChange },
): Promise<NewEvent | undefined> {
  const wanting = (await endpoints.all(tx)).filter((endpoint) => wants(endpoint, event));
  if (wanting.length === 0) return settings.current.webhooks.events === 'always' ? event : undefined;
  const { context } = event;
  if (context?.changed === undefined || !wanting.some(({ payload }) => payload === 'previous')) return event;
  return { ...event, context: { ...context, previous: valuesBefore(change, context.changed) } };
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
 * The event log's listener: makes one delivery for each endpoint that wants an event, in the transaction of the record. A delivery is
 * two numbers, the position of the event and the number of the endpoint, and never changes.
 */
export async function fanOut(
  tx: Transaction,
  events: readonly Event[],
  endpoints: EndpointStore,
): Promise<DependentRows> {
  const { names } = tx;
  return {
    into: sql`INSERT INTO ${names.table('$delivery')} (${names.scopeColumn}event, endpoint)`,
    row: sql`${names.scopeValue}inserted.position, CAST(given.endpoint AS bigint)`,
    columns: givenColumns,
    runs: (await endpoints.all(tx)).flatMap((endpoint) => runsOf(endpoint, events)),
  };
}

const givenColumns: readonly InlineColumn[] = [['endpoint', 'number']];

/** Neighbours among the events that an endpoint is told of: the places of the first and the last of them. */
interface Run {
  readonly first: number;
  last: number;
  readonly values: readonly [endpoint: number];
}

function runsOf(endpoint: Endpoint, events: readonly Event[]): readonly Run[] {
  const runs: Run[] = [];
  for (const [place, event] of events.entries()) {
    if (!wants(endpoint, event)) continue;
    const before = runs.at(-1);
    if (before?.last === place - 1) before.last = place;
    else runs.push({ first: place, last: place, values: [endpoint.number] });
  }
  return runs;
}

/** Tells an endpoint of the event that this transaction appended last; the transaction must not be a shared one. */
export async function tellOfLast(tx: Transaction, endpoint: number): Promise<number> {
  const { names } = tx;
  const [row] = await tx.returning(sql`
    INSERT INTO ${names.table('$delivery')} (${names.scopeColumn}event, endpoint)
    VALUES (${names.scopeValue}${names.lastPosition}, ${endpoint}) RETURNING event`);
  return Number(row?.[0]);
}
