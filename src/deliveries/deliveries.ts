import { assert } from '../base/assert.ts';
import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import { fromTimestamp, type Timestamp, toIsoTimestamp } from '../base/timestamp.ts';
import { nextSpan, toTrace } from '../base/trace-context.ts';
import { type EventContext, readContext } from '../events/event-context.ts';
import { isOperational, isTransition, kindOfBody, payloadOf, kindForReceivers } from '../events/event.ts';
import { foundByKeys, sql, type Sql } from '../sql/sql.ts';
import type { Names, Reader, Tuple } from '../storage/database.ts';
import type { DeliveryState, Disposition } from './delivery.ts';
import { keysAt, type SigningKeys } from '../endpoints/signing-keys.ts';
import { type Endpoint, signingSecrets } from '../endpoints/endpoint.ts';
import { isHeld, isSuperseded, recordKey } from './record-order.ts';
import type { AttemptRequest } from '../sending/attempt-result.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';

/** Which delivery: the position of its event in the log, and the number of its endpoint. */
export interface DeliveryKey {
  readonly event: number;
  readonly endpoint: number;
}

/** A pending delivery with the parts of its event that an attempt needs. */
export interface PendingDelivery {
  /** As the API and receivers know it. */
  readonly id: string;
  readonly key: DeliveryKey;
  readonly state: DeliveryState;
  readonly disposition: Disposition;
  /** The record of the event; see `recordKey`. */
  readonly record: string;
  readonly endpointId: string;
  /** When the endpoint was last changed. */
  readonly endpointUpdated: string;
  readonly eventId: string;
  /** When the event was made. */
  readonly created: Timestamp;
  readonly isReplay: boolean;
  /** The batch that it was put into; absent for none. */
  readonly batch?: Batch;
  /** The trace of the request that has caused the event; empty where there was none. */
  readonly trace: string;
  readonly context: EventContext | undefined;
  readonly kind: string;
  readonly collectionName: string;
  readonly revision: number;
  readonly body: Uint8Array;
  /** Whether the body has only the id of the record, as all of it would be too large to send. */
  readonly isThin: boolean;
}

/** Deliveries to one endpoint that are sent in one request. */
export interface Batch {
  readonly id: string;
  readonly size: number;
}

/** The id of a delivery: there is one for each endpoint that receives an event. */
export function deliveryId(eventId: string, endpointId: string): string {
  return `${eventId}-${endpointId}`;
}

/** Returns the endpoint's id in the id of a delivery; empty where there is none. */
export function endpointOfDelivery(id: string): string {
  return id.split('-')[1] ?? '';
}

/** Names a delivery among those of its instance. */
export function keyText({ event, endpoint }: DeliveryKey): string {
  return `${event}-${endpoint}`;
}

/** Larger bodies are read one at a time: 256 of the largest at once would take 64 MiB. */
const bodyTogetherMax = 16 * 1024;

/** The options of an endpoint that decide about a delivery whose turn it is. */
export type SendPolicy = Pick<Endpoint, 'order' | 'coalesce' | 'maxAgeSeconds'>;

/** One that is sent whatever else there is. */
export const sendAnyway: SendPolicy = { order: 'none', coalesce: false, maxAgeSeconds: null };

export interface PendingQuery {
  readonly keys: readonly DeliveryKey[];
  /** By the number of the endpoint. */
  readonly policyOf: (endpoint: number) => SendPolicy;
  readonly instance: Pick<WebhookInstance, 'shownId' | 'bodyBytesMax'>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Reads deliveries that are still pending, with their events, in no order; those that are over, or whose endpoint was deleted, are missing.
 * Endpoints with the same events share a statement.
 */
export async function readPendings(reader: Reader, query: PendingQuery): Promise<PendingDelivery[]> {
  const eventsOf = Map.groupBy(query.keys, ({ endpoint }) => endpoint);
  const groups = Map.groupBy(eventsOf, ([endpoint, its]) => {
    const { order, coalesce } = query.policyOf(endpoint);
    return `${order} ${coalesce} ${its.map(({ event }) => event).join()}`;
  });
  const reads = [...groups.values()].map((group) => {
    const [[first, its] = [0, []]] = group;
    const { order, coalesce } = query.policyOf(first);
    const events = its.map(({ event }) => event);
    const endpoints = group.map(([endpoint]) => endpoint);
    return readTogether(reader, { events, endpoints, order, coalesce, query });
  });
  return (await Promise.all(reads)).flat();
}

interface PendingGroup extends Pick<SendPolicy, 'order' | 'coalesce'> {
  readonly events: readonly number[];
  readonly endpoints: readonly number[];
  readonly query: PendingQuery;
}

async function readTogether(
  reader: Reader,
  { events, endpoints, order, coalesce, query }: PendingGroup,
): Promise<PendingDelivery[]> {
  const { names } = reader;
  const event = sql`${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.position = d.event`;
  const endpoint = sql`${names.table('$endpoint')} p ON ${names.instance.conditionOf('p')} AND p.position = d.endpoint`;
  const outcome = sql`${names.table('$outcome')} o ON ${names.instance.conditionOf('o')} AND o.event = d.event AND o.endpoint = d.endpoint AND ${isBetween(sql`o.event`, events)}`;
  const waitsForEarlier = order === 'record' ? isHeld(names) : sql`FALSE`;
  const hasLaterState = coalesce ? isSuperseded(names) : sql`FALSE`;
  const disposition = sql`CASE WHEN e.expunged IS NOT NULL THEN 'expunged' WHEN ${hasLaterState} THEN 'superseded' WHEN ${waitsForEarlier} THEN 'held' ELSE 'send' END`;
  const pending = sql`
    SELECT ${disposition}, ${recordKey(sql`e`)}, d.event, d.endpoint, o.attempts, o.due, o.cause, p.id, p.updated, e.id, e.kind, e.collection_name, e.revision, e.record, e.created,
      o.replay, o.batch, o.batch_size, e.trace, e.context, length(e.body), CASE WHEN length(e.body) <= ${bodyTogetherMax} THEN e.body END
    FROM ${names.table('$delivery')} d JOIN ${event} JOIN ${endpoint} LEFT JOIN ${outcome}
    WHERE ${names.instance.conditionOf('d')} AND ${isOneOf(names, sql`d.event`, events)} AND d.endpoint${names.anyNumberOf(endpoints)}
      AND ${isBetween(sql`e.position`, events)} AND p.deleted = '' AND coalesce(o.status, 'pending') = 'pending'`;
  const rows = await reader.tuples(foundByKeys(pending));
  const pendings: PendingDelivery[] = [];
  for (const row of rows) pendings.push(await toPending(reader, row, query));
  return pendings;
}

/** Whether a position is one of these. The range is part of the condition, so that no other partition of the log is read. */
export function isOneOf(names: Names, position: Sql, positions: readonly number[]): Sql {
  if (positions.length === 0) return sql`FALSE`;
  return sql`${position}${names.anyNumberOf(positions)} AND ${isBetween(position, positions)}`;
}

function isBetween(position: Sql, positions: readonly number[]): Sql {
  return sql`${position} BETWEEN ${Math.min(...positions)} AND ${Math.max(...positions)}`;
}

async function toPending(
  reader: Reader,
  [disposition, recordOfEvent, ...row]: Tuple,
  { instance, policyOf, now }: PendingQuery,
): Promise<PendingDelivery> {
  const [event, endpoint, attempts, due, cause, endpointId, endpointUpdated, eventId, ...about] = row;
  const [kind, collectionName, revision, record, created, replay, batch, size, ...content] = about;
  const [trace, context, length, read] = content;
  const key = { event: Number(event), endpoint: Number(endpoint) };
  const subject = { kind: String(kind), collectionName: String(collectionName) };
  const isThin = Number(length) > instance.bodyBytesMax;
  const whole = async (): Promise<Uint8Array> =>
    // The column is a BLOB.
    read === null ? readBody(reader, key.event) : (read as Uint8Array);
  const origin = { record: String(record), created: String(created) };
  const body = isThin
    ? thinBody(
        { ...subject, ...origin, ...(kind === 'test' && { kind: kindOfBody(await whole()) }) },
        instance.shownId,
      )
    : await whole();
  const { maxAgeSeconds } = policyOf(key.endpoint);
  const isOld = maxAgeSeconds !== null && now - fromTimestamp(String(created)) > maxAgeSeconds * 1_000;
  return {
    // The statement makes nothing else.
    disposition: isOld ? 'expired' : (String(disposition) as Disposition),
    record: String(recordOfEvent),
    id: deliveryId(String(eventId), String(endpointId)),
    key,
    state:
      attempts === null
        ? waiting
        : {
            status: 'pending',
            attempts: Number(attempts),
            due: due === null ? undefined : Number(due),
            cause: String(cause),
          },
    endpointId: String(endpointId),
    endpointUpdated: String(endpointUpdated),
    eventId: String(eventId),
    created: String(created),
    isReplay: replay !== null,
    ...(typeof batch === 'string' && { batch: { id: batch, size: Number(size) } }),
    trace: trace === null ? '' : String(trace),
    context: readContext(context),
    revision: Number(revision),
    ...subject,
    body,
    isThin,
  };
}

/** The state of a delivery that has no outcome. */
const waiting: DeliveryState = { status: 'pending', attempts: 0, due: undefined, cause: '' };

/** Returns the body of an event; an empty one where there is no such event. */
export async function readBody(reader: Reader, position: number): Promise<Uint8Array> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT body FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position = ${position}`,
  );
  // The column is a BLOB and never null.
  return row === undefined ? new Uint8Array() : (row[0] as Uint8Array);
}

interface ThinEvent {
  readonly kind: string;
  readonly collectionName: string;
  readonly record: string;
  readonly created: Timestamp;
}

/** The body that replaces one that is too large: the receiver fetches the record. */
export function thinBody({ record, ...about }: ThinEvent, instanceId: string): Uint8Array {
  return Buffer.from(payloadOf({ ...about, dataJson: JSON.stringify({ id: record }) }, instanceId));
}

/** What an attempt sends to its endpoint, before it is written as a request. */
export interface AttemptContent {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly kind: string;
  readonly collectionName: string;
  /** Id of the record; empty for the test event. */
  readonly record: string;
  readonly created: Timestamp;
  readonly revision: number;
  readonly body: Uint8Array;
  /** Whether the body has only the id of the record, as all of it would be too large to send. */
  readonly isThin: boolean;
  /** 1 for the delivery's first attempt. */
  readonly attempt: number;
  /** The headers by which the receiver goes on with the trace of the change; empty where there is none. */
  readonly traceparent: string;
  readonly tracestate: string;
  readonly context: EventContext | undefined;
}

export interface AttemptTarget {
  readonly endpoint: Endpoint;
  /** Those of the instance. */
  readonly signingKeys: SigningKeys | undefined;
  readonly instance: Pick<WebhookInstance, 'shownId' | 'settings'>;
  /** In milliseconds since 1970: which secrets sign depends on it. */
  readonly nowMs: number;
  /** The version of this service. */
  readonly version: string;
}

/** Returns the content of the next attempt of a delivery. */
export function attemptContent(pending: PendingDelivery): AttemptContent {
  const { traceparent, tracestate } = toTrace(pending.trace);
  const { id, state, record, ...about } = pending;
  return {
    ...about,
    deliveryId: id,
    record: record.slice(record.indexOf('/') + 1),
    attempt: state.attempts + 1,
    traceparent: traceparent === '' ? '' : nextSpan(traceparent),
    tracestate,
  };
}

/** Returns the request that delivers an event to an endpoint, for the sender. */
export function toAttemptRequest(
  {
    deliveryId,
    eventId,
    kind,
    collectionName,
    record,
    created,
    revision,
    attempt,
    ...content
  }: AttemptContent,
  { endpoint, signingKeys, instance, nowMs, version }: AttemptTarget,
): AttemptRequest {
  const { id, url, headers, timeoutMs, payload, oauth2, updated } = endpoint;
  const { body, isThin, traceparent, tracestate, context } = content;
  const cloudEvent = {
    source: `urn:chancery:instance:${instance.shownId}`,
    subject: collectionName === '' ? '' : `${collectionName}/${record}`,
    schema: collectionName === '' ? '' : schemaUrl(instance, collectionName),
    time: toIsoTimestamp(created),
  };
  const event = kind === 'test' ? kindOfBody(body) : kindForReceivers(kind);
  return {
    deliveryId,
    eventId,
    attempt,
    traceparent,
    tracestate,
    endpointId: id,
    url,
    body: shapeBody({ kind: event, record, body, isThin, context }, endpoint),
    // An endpoint that gets the id alone misses nothing.
    isThin: isThin && payload !== 'thin',
    event,
    ...(kind === 'test' && { isTest: true }),
    collection: collectionName,
    sequence: revision,
    ...(context && {
      cause: { ...causeOf(context, endpoint.owner === ''), ...(isTransition(kind) && { transition: kind }) },
    }),
    ...(endpoint.cloudEvents && { cloudEvent }),
    customHeaders: headers,
    ...(oauth2 !== null && { oauth2: { ...oauth2, updated } }),
    ...tlsOf(endpoint),
    secrets: signingSecrets(endpoint, nowMs),
    ...(endpoint.ed25519 && { signingKeys: keysAt(signingKeys, nowMs).map(({ d, x }) => ({ d, x })) }),
    timeoutMs,
    version,
  };
}

/** Returns where the schema of a collection's events is: in the description of the API that superusers get (event-schemas.ts). */
function schemaUrl({ settings }: Pick<WebhookInstance, 'settings'>, collection: string): string {
  const { appURL } = settings.current.meta;
  // What is not ASCII in it could not be sent in a header.
  const base = URL.parse(appURL)?.href.replace(/\/+$/, '') ?? '';
  return base === '' ? '' : `${base}/api/openapi.json#/components/schemas/${collection}.Event`;
}

/** Returns how TLS to the receiver of an endpoint differs from the usual. */
export function tlsOf({
  ca,
  clientCertificate: client,
}: Pick<Endpoint, 'ca' | 'clientCertificate'>): Pick<AttemptRequest, 'tls'> {
  if (ca === '' && client === null) return {};
  return { tls: { ca, client: client && { certificate: client.certificate, key: client.key } } };
}

/** Names are cut where the header would be longer than this; `*` then stands for those that are left out. */
const changedLengthMax = 4_096;

/** Returns the headers' description of the change. Its author is for superusers alone. */
function causeOf(
  { hops, changed = [], backfill, ...context }: EventContext,
  isForSuperusers: boolean,
): NonNullable<AttemptRequest['cause']> {
  const actor = isForSuperusers ? context.actor : '';
  const names = changed.join(',');
  const about = { actor, hops, ...(backfill !== undefined && { backfill }) };
  if (names.length <= changedLengthMax) return { ...about, changed: names };
  return { ...about, changed: `${names.slice(0, names.lastIndexOf(',', changedLengthMax - 2))},*` };
}

type ShapedEvent = Pick<AttemptContent, 'kind' | 'record' | 'body' | 'isThin' | 'context'>;

/**
 * Returns the body that an endpoint is sent of an event: the whole one, or the parts that its options select, in the order of the record.
 * The same event and options make the same bytes at every attempt.
 */
export function shapeBody(
  { kind, record, body, isThin, context }: ShapedEvent,
  { payload, fields, owner }: Pick<Endpoint, 'payload' | 'fields' | 'owner'>,
): Uint8Array {
  if ((payload === 'full' && fields.length === 0 && owner === '') || isOperational(kind)) return body;
  const event: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
  const whole = isJsonObject(event) ? ownMember(event, 'data') : undefined;
  assert(isJsonObject(event) && isJsonObject(whole), 'every body of ours has an object as its data');
  const fieldNames = payload === 'thin' ? ['id'] : ['id', ...fields];
  const isAll = payload !== 'thin' && fields.length === 0;
  // An account that hides its address shows it to nobody but itself and to superusers.
  const isAddressHidden = owner !== '' && whole['emailVisibility'] === false && !owner.endsWith(`/${record}`);
  const isSent = (name: string): boolean =>
    (isAll || fieldNames.includes(name)) && !(isAddressHidden && name === 'email');
  const shape = (values: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(values).filter(([name]) => isSent(name)));
  const data = shape(whole);
  if (payload !== 'previous' || isThin) return Buffer.from(JSON.stringify({ ...event, data }));
  const previous = kind === 'record.delete' ? data : shape(context?.previous ?? {});
  return Buffer.from(JSON.stringify({ ...event, data, ...(previousKinds.includes(kind) && { previous }) }));
}

/** The kinds of events that have a state before them. */
const previousKinds = ['record.update', 'record.delete'];
