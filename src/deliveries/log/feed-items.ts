import { type EventContext, readContext } from '../../events/event-context.ts';
import { readBodies } from '../../events/read-bodies.ts';
import { sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import { readEndpoint } from '../../endpoints/endpoint-store.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { headersByName, requestHeaders } from '../../sending/signature.ts';
import { deliveryId, thinBody, toAttemptRequest } from '../deliveries.ts';
import { type FedEvent, transitionPayload } from './feed-transitions.ts';
import { type PastMessage, pastMessage } from './past-events.ts';

interface FeedRow {
  readonly position: number;
  readonly id: string;
  readonly kind: string;
  readonly collectionName: string;
  readonly revision: number;
  readonly record: string;
  readonly created: string;
  readonly body: Buffer;
  readonly context: EventContext | undefined;
}

interface SignedRequest {
  readonly payload: Uint8Array;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** Signs an event as an endpoint would get it; undefined where its owner may not view the record. */
export type Sign = (row: FeedRow) => Promise<SignedRequest | undefined>;

/**
 * Returns a function that builds the request that an endpoint would get for an event; it returns undefined where its owner may not view the record. Throws
 * not_found.
 */
export async function signerOf(
  instance: WebhookInstance,
  endpointId: string | undefined,
  version: string,
): Promise<Sign | undefined> {
  if (endpointId === undefined) return undefined;
  const endpoint = await readEndpoint(instance, endpointId);
  const { signingKeys } = instance.endpoints;
  const messageOf = ({ position, body, context, ...event }: FeedRow): Promise<PastMessage | undefined> => {
    if (endpoint.owner !== '') return pastMessage(instance, endpoint, position);
    const isThin = body.length > instance.bodyBytesMax;
    return Promise.resolve({ body: isThin ? thinBody(event, instance.shownId) : body, isThin, context });
  };
  return async (row) => {
    const message = await messageOf(row);
    if (message === undefined) return undefined;
    const { id, position: _, ...event } = row;
    // A fetched event is not part of the trace of the request that caused it.
    const content = { ...event, ...message, eventId: id, attempt: 1, traceparent: '', tracestate: '' };
    const request = toAttemptRequest(
      { ...content, deliveryId: deliveryId(id, endpointId) },
      { endpoint, signingKeys, instance, nowMs: instance.clock.now(), version },
    );
    const flat = requestHeaders(request, Math.floor(instance.clock.now() / 1_000));
    // No other member shows an account more than its body.
    const payload = endpoint.owner === '' ? row.body : request.body;
    return { payload, body: request.body, headers: headersByName(flat) };
  };
}

/** Returns the JSON texts of the items of these events, in the order of the log. */
export async function readItems(
  reader: Reader,
  fed: readonly FedEvent[],
  { sign, instanceId }: { readonly sign: Sign | undefined; readonly instanceId: string },
): Promise<readonly string[]> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT position, id, kind, collection_name, revision, record, created, body, context FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND position${names.anyNumberOf(fed.map(({ position }) => position))} ORDER BY position`);
  const transitions = new Map(
    fed.flatMap((one) => (one.transition === undefined ? [] : [[one.position, one]])),
  );
  const before = [...transitions.values()].flatMap((one) => (one.before === undefined ? [] : [one.before]));
  const states = await readBodies(reader, before);
  const items = rows.map(
    async ([position, id, kind, collectionName, revision, record, created, body, context]) => {
      const row: FeedRow = {
        position: Number(position),
        id: String(id),
        kind: String(kind),
        collectionName: String(collectionName),
        revision: Number(revision),
        record: String(record),
        created: String(created),
        // The column is a BLOB and never null.
        body: Buffer.from(body as Uint8Array),
        context: readContext(context),
      };
      const moved = transitions.get(row.position);
      if (moved?.transition === undefined) return toItem(row, sign);
      const state = moved.transition === 'enter' ? row.body : states.get(moved.before ?? 0);
      const payload = transitionPayload(row, moved.transition, { state, instanceId });
      return `${headOf(row, payload)},"transition":"${moved.transition}"}`;
    },
  );
  return (await Promise.all(items)).filter((item) => item !== undefined);
}

async function toItem(row: FeedRow, sign: Sign | undefined): Promise<string | undefined> {
  if (sign === undefined) return `${headOf(row, row.body)}}`;
  const request = await sign(row);
  if (request === undefined) return undefined;
  // The exact text as well: the signature is over its bytes.
  const sent = Buffer.from(request.body).toString('utf8');
  return `${headOf(row, request.payload)},"body":${JSON.stringify(sent)},"headers":${JSON.stringify(request.headers)}}`;
}

function headOf({ id, revision }: FeedRow, payload: Uint8Array): string {
  return `{"id":${JSON.stringify(id)},"sequence":${revision},"payload":${Buffer.from(payload).toString('utf8')}`;
}
