import type { Schema } from './document.ts';
import { reference, schemaReference } from './reference.ts';

/** The statuses of refusals, and when they are given. */
const reasons = {
  400: ['BadRequest', 'Something in the request is not as it must be; `data` says what, by member.'],
  401: ['Unauthorized', 'The request needs a valid token, or its API key is not valid.'],
  403: ['Forbidden', 'The caller may not do this.'],
  404: ['NotFound', 'There is no such thing, or the caller may not see it; nothing tells the two apart.'],
  409: ['Conflict', 'The request conflicts with another change, or with the state of what it is about.'],
  412: ['PreconditionFailed', 'The record has changed: its revision is none of those in `If-Match`.'],
  413: ['PayloadTooLarge', 'The body is larger than 32 MiB.'],
  415: ['UnsupportedMediaType', 'The body is no JSON in UTF-8, or it is compressed.'],
  422: ['Unprocessable', 'The idempotency key was used with another request.'],
  429: [
    'TooManyRequests',
    'The client asks more often than the rules of the instance allow, or sent too many wrong passwords.',
  ],
  500: ['InternalError', 'Something is wrong with the service. Of a write: the outcome is unknown.'],
  503: ['Unavailable', 'Not done: the service is busy, a search took too long, or the service is stopping.'],
  507: ['StorageFull', 'Not done: the storage is full.'],
} as const;

export type RefusalStatus = keyof typeof reasons;

/** What a refusal of this status looks like, as a reference. */
export function refusal(status: RefusalStatus): Schema {
  return reference('responses', reasons[status][0]);
}

/** Every refusal that is referred to, by name. */
export const refusalResponses: Readonly<Record<string, Schema>> = Object.fromEntries(
  Object.entries(reasons).map(([status, [name, description]]) => [
    name,
    response(Number(status), description),
  ]),
);

function response(status: number, description: string): Schema {
  return {
    description,
    headers: { 'X-Request-Id': reference('headers', 'RequestId'), ...headersOf(status) },
    content: { 'application/json': { schema: schemaReference('Error') } },
  };
}

function headersOf(status: number): Schema {
  const retry = { 'Retry-After': reference('headers', 'RetryAfter') };
  if (status === 503 || status === 507) return retry;
  if (status !== 429) return {};
  const policy = reference('headers', 'RateLimitPolicy');
  return { ...retry, RateLimit: reference('headers', 'RateLimit'), 'RateLimit-Policy': policy };
}
