/**
 * Batches: an endpoint with the option `batch` gets several events in one request, whose body is an array under one signature.
 *
 *     const webhooks = await verifyBatch(secret, request.headers, body);
 *     for (const { id, event } of webhooks) console.log(id, event.collection, event.data);
 */
import { findHeader, getHeader, type HeaderSource, toNumber } from './headers.ts';
import { type WebhookBody, toBytes } from './signature.ts';
import { type Secrets, verifySignature, type VerifyOptions, type Webhook } from './verify.ts';
import { BodyError } from './webhook-errors.ts';
import { type AnyRecords, type BatchedEvent, readEvents } from './webhook-event.ts';
import { readFacts, transitionOf } from './webhook-facts.ts';

/**
 * As `verify`, for a request with any number of events: returns them in their order. `id` is that of each event, which stays the same if it comes
 * again in another batch; that of the batch is the header `webhook-id`. A batch does not tell who has changed what: `delivery`, `actor` and
 * `changed` are empty.
 */
export async function verifyBatch<Records = AnyRecords>(
  secret: Secrets | VerifyOptions,
  headers: HeaderSource,
  body: WebhookBody,
): Promise<readonly Webhook<Records>[]> {
  // The bytes that are verified are those that are read.
  const bytes = toBytes(body);
  await verifySignature(secret, headers, bytes);
  const events = readEvents(bytes);
  const webhooks = isBatch(bytes) ? batchOf(headers, events) : [singleOf(headers, events)];
  // The members that all events have were checked; the fields of records are the receiver's claim.
  return webhooks as unknown as readonly Webhook<Records>[];
}

/** JSON has white space before an array at most. */
function isBatch(bytes: Uint8Array): boolean {
  return bytes.find((byte) => byte > 0x20) === '['.charCodeAt(0);
}

function singleOf(headers: HeaderSource, [only]: readonly BatchedEvent[]): object {
  const isTruncated = findHeader(headers, 'x-service-truncated') === 'data';
  return { ...readFacts(headers), isTruncated, event: only?.event };
}

function batchOf(headers: HeaderSource, events: readonly BatchedEvent[]): readonly object[] {
  const facts = { ...readFacts(headers), changed: [], isChangedCut: false, actor: undefined };
  const ids = getHeader(headers, 'x-service-events').split(',');
  if (ids.length !== events.length)
    throw new BodyError(
      `The header X-Service-Events has ${ids.length} ids, but the body has ${events.length} events.`,
    );
  const list = (name: string): readonly string[] => findHeader(headers, name)?.split(',') ?? [];
  const [sequences, transitions, truncated] = ['sequence', 'transition', 'truncated'].map((name) =>
    list(`x-service-${name}`),
  );
  return events.map(({ id, event }, at) => ({
    ...facts,
    id: id ?? ids[at],
    sequence: toNumber(sequences?.[at]),
    transition: transitionOf(transitions?.[at]),
    isTruncated: truncated?.[at] === 'data',
    event,
  }));
}
