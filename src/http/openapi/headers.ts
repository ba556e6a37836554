import type { Schema } from './document.ts';

/** The headers of answers that mean something to clients. */
export const headers: Readonly<Record<string, Schema>> = {
  RequestId: {
    description: 'Names the request in the log of the service.',
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Seconds after which the same request may succeed.',
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimit: {
    description:
      'What the client may still ask. On every answer to a request that a rule of the instance limits.',
    schema: { type: 'string' },
  },
  RateLimitPolicy: {
    description: 'The rule that limits the request. On the same answers as `RateLimit`.',
    schema: { type: 'string' },
  },
  EntityTag: {
    description:
      '`"<revision>-<checksum>"`, of the record as it is answered here. For `If-Match` and `If-None-Match`.',
    schema: { type: 'string' },
  },
  ServerTiming: {
    description:
      '`query;desc="index"`, or `"scan"` where no index leads to what the filter or the order asks for. For superusers.',
    schema: { type: 'string' },
  },
  DocumentTag: {
    description: 'Of this document. For `If-None-Match`.',
    schema: { type: 'string' },
  },
  Replayed: {
    description: '`true` on an answer that was kept under an `Idempotency-Key`; otherwise absent.',
    schema: { const: 'true' },
  },
};
