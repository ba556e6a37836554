import type { AttemptRequest } from './attempt-result.ts';
import { isReservedHeader } from '../endpoints/endpoint-headers.ts';
import { signBody, standardSignature } from './signature.ts';

/** Returns the headers of one attempt as a flat list of names and values; `timestampSeconds` is the time of the attempt. */
export function requestHeaders(request: AttemptRequest, timestampSeconds: number): string[] {
  const { body, secrets, eventId } = request;
  const [current = '', previous] = secrets;
  const headers = [
    'Content-Type',
    'application/json',
    'User-Agent',
    `Chancery/${request.version}`,
    'Accept-Encoding',
    'identity',
    'X-Service-Signature',
    signBody(body, current),
    'X-Service-Event',
    request.event,
    'X-Service-Collection',
    request.collection,
    'X-Service-Delivery',
    request.deliveryId,
    'X-Service-Attempt',
    String(request.attempt),
    'X-Service-Sequence',
    String(request.sequence),
    'webhook-id',
    eventId,
    'webhook-timestamp',
    String(timestampSeconds),
    'webhook-signature',
    standardSignature({ id: eventId, timestampSeconds, body, secrets }),
  ];
  if (previous !== undefined) headers.push('X-Service-Signature-Previous', signBody(body, previous));
  for (const name in request.customHeaders) {
    // Saving an endpoint refuses reserved names, but an endpoint may be older than the name on the list.
    if (!isReservedHeader(name)) headers.push(name, request.customHeaders[name] ?? '');
  }
  return headers;
}
