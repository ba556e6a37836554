import { reference, type Schema, schemaReference } from './schema.ts';

/** What decides how an operation may be refused. */
interface RefusedOperation {
  readonly body?: Schema;
  readonly isForOperator?: boolean;
  readonly isOutsideInstances?: boolean;
  readonly refusals?: readonly RefusalStatus[];
}

/** Returns the statuses of the refusals of an operation. */
export function refusalsOf(operation: RefusedOperation): ReadonlySet<RefusalStatus> {
  const { body, refusals = [] } = operation;
  return new Set<RefusalStatus>([
    ...refusedBefore(operation),
    ...(body === undefined ? [] : refusedWithBody),
    ...refusals,
  ]);
}

function refusedBefore({ isOutsideInstances, isForOperator }: RefusedOperation): readonly RefusalStatus[] {
  if (isForOperator === true) return refusedOperator;
  return isOutsideInstances === true ? refusedOutside : refusedAnywhere;
}

/**
 * Refusals of every operation on an instance: malformed request, invalid API key, superuser from an address that the settings do not
 * allow, unknown instance, rate limit, fault of the service, service busy or unavailable.
 */
const refusedAnywhere = [400, 401, 403, 404, 429, 500, 503] as const;

/** Refusals of every operation of the operator: as above, but there are no rate limits. */
const refusedOperator = [400, 401, 403, 404, 500, 503] as const;

/** Refusals of operations that are about no instance. */
const refusedOutside = [400, 500] as const;

/** Further refusals of operations that take a body. */
const refusedWithBody = [413, 415] as const;

/** The statuses of refusals, and when they are given. */
const reasons = {
  400: ['BadRequest', 'The request is invalid; `data` has the errors by member.'],
  401: ['Unauthorized', 'The request needs a valid token, or its API key is not valid.'],
  403: ['Forbidden', 'The caller may not do this.'],
  404: ['NotFound', 'It does not exist, or the caller may not see it; the answer is the same.'],
  409: ['Conflict', 'The request conflicts with another change, or with the current state.'],
  412: ['PreconditionFailed', 'The record has changed: its revision is none of those in `If-Match`.'],
  413: ['PayloadTooLarge', 'The body is larger than 32 MiB, or a form with files than its fields allow.'],
  415: ['UnsupportedMediaType', 'The body is no JSON in UTF-8, or it is compressed.'],
  416: ['RangeNotSatisfiable', 'The file has none of the bytes of `Range`.'],
  422: ['Unprocessable', 'The idempotency key was used with another request.'],
  429: [
    'TooManyRequests',
    'The client exceeds a rate limit of the instance, or sent too many wrong passwords.',
  ],
  500: ['InternalError', 'An internal error. The outcome of a write is unknown.'],
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
    content: { 'application/json': { schema: schemaReference('ErrorBody') } },
  };
}

function headersOf(status: number): Schema {
  const retry = { 'Retry-After': reference('headers', 'RetryAfter') };
  if (status === 503 || status === 507) return retry;
  if (status !== 429) return {};
  const policy = reference('headers', 'RateLimitPolicy');
  return { ...retry, RateLimit: reference('headers', 'RateLimit'), 'RateLimit-Policy': policy };
}
