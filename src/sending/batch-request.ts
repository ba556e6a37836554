import type { AttemptRequest, BatchFacts } from './attempt-result.ts';

const [begin, comma, end] = ['[', ',', ']'].map((text) => Buffer.from(text));

/** Returns the request that sends these together, under the id of their batch. Its body is an array of their bodies. */
export function toBatchRequest(
  { deliveryId, eventId }: Pick<AttemptRequest, 'deliveryId' | 'eventId'>,
  requests: readonly [AttemptRequest, ...AttemptRequest[]],
): AttemptRequest {
  const [first] = requests;
  const parts = requests.flatMap((request, at) => [at === 0 ? begin : comma, toItem(request)]);
  const hops = requests.flatMap(({ cause }) => (cause === undefined ? [] : [cause.hops]));
  const { cause: _, ...common } = first;
  return {
    ...common,
    deliveryId,
    eventId,
    body: Buffer.concat([...parts, end].filter((part) => part !== undefined)),
    attempt: Math.max(...requests.map(({ attempt }) => attempt)),
    ...(hops.length > 0 && { cause: { actor: '', changed: '', hops: Math.max(...hops) } }),
    batch: {
      ids: requests.map((request) => request.eventId),
      sequences: requests.map(({ sequence }) => sequence),
      transitions: requests.map(({ cause }) => cause?.transition ?? ''),
      isThin: requests.map(({ isThin }) => isThin),
    },
  };
}

/** Returns how many of these may be sent together: their array has no more bytes, or it has one event alone. */
export function fittingCount(requests: readonly AttemptRequest[], bytesMax: number): number {
  let bytes = 1;
  const end = requests.findIndex((request, at) => {
    // With the bracket or comma behind it.
    bytes += toItem(request).length + 1;
    return at > 0 && bytes > bytesMax;
  });
  return end === -1 ? requests.length : end;
}

/** An event in the JSON format of CloudEvents 1.0 where these are on (section 4.3 of the HTTP protocol binding); otherwise its body. */
function toItem({ eventId, event, body, cloudEvent }: AttemptRequest): Uint8Array {
  if (cloudEvent === undefined) return body;
  const { source, subject, schema, time } = cloudEvent;
  const attributes = {
    specversion: '1.0',
    id: eventId,
    source,
    type: event,
    time,
    ...(subject !== '' && { subject }),
    ...(schema !== '' && { dataschema: schema }),
    datacontenttype: 'application/json',
  };
  const text = JSON.stringify(attributes);
  return Buffer.concat([Buffer.from(`${text.slice(0, -1)},"data":`), body, Buffer.from('}')]);
}

export function batchContentType({ cloudEvent }: AttemptRequest): string {
  return cloudEvent === undefined ? 'application/json' : 'application/cloudevents-batch+json';
}

/** Returns the headers about the events of a batch. Lists have a value for each event, in the order of the body. */
export function batchHeaders({ attempt }: AttemptRequest, batch: BatchFacts): readonly string[] {
  const { ids, sequences, transitions, isThin } = batch;
  const headers = [
    'X-Service-Batch',
    String(ids.length),
    'X-Service-Attempt',
    String(attempt),
    'X-Service-Events',
    ids.join(','),
    'X-Service-Sequence',
    sequences.join(','),
  ];
  if (transitions.some((transition) => transition !== ''))
    headers.push('X-Service-Transition', transitions.join(','));
  if (isThin.includes(true))
    headers.push('X-Service-Truncated', isThin.map((is) => (is ? 'data' : '')).join(','));
  return headers;
}
