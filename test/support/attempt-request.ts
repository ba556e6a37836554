import type { AttemptRequest } from '../../src/sending/attempt-result.ts';

/** An attempt as the dispatcher would make it, to an endpoint at `url`. */
export function attemptRequest(url: string, changes: Partial<AttemptRequest> = {}): AttemptRequest {
  return {
    deliveryId: 'dlv0001xk2m9q7w1z8b5',
    endpointId: 'k2m9x4q7w1z8b5n',
    url,
    body: Buffer.from('{"event":"record.create","collection":"posts","data":{"title":"Grüße 🌍"}}'),
    isThin: false,
    eventId: 'evt0001xk2m9q7w1z8b5',
    event: 'record.create',
    collection: 'posts',
    attempt: 1,
    sequence: 7,
    traceparent: '',
    tracestate: '',
    customHeaders: {},
    secrets: ['whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='],
    timeoutMs: 10_000,
    version: '0.1.0',
    ...changes,
  };
}
