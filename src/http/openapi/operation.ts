import type { Operation, Schema } from './document.ts';
import { reference } from './reference.ts';
import { refusal, type RefusalStatus } from './refusals.ts';

export interface OperationParts {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Names of described parameters. */
  readonly parameters?: readonly string[];
  /** Schema of the JSON body. */
  readonly body?: Schema;
  /** A body that may be left out, as all of its members may. */
  readonly isBodyOptional?: boolean;
  readonly answers: Readonly<Record<number, Schema>>;
  /** Further refusals than those that every operation has. */
  readonly refusals?: readonly RefusalStatus[];
  readonly isForSuperusers?: boolean;
}

/**
 * Refusals of every operation on an instance: malformed request, invalid API key, superuser from an address that the settings do not
 * allow, unknown instance, rate limit, fault of the service, service busy or unavailable.
 */
const refusedAnywhere = [400, 401, 403, 404, 429, 500, 503] as const;

/** Further refusals of operations that take a body. */
const refusedWithBody = [413, 415] as const;

/** Every JSON body may also be sent as a form, with the members of its schema as fields. */
const forms = {
  'multipart/form-data': { schema: { type: 'object' } },
  'application/x-www-form-urlencoded': { schema: { type: 'object' } },
};

/** Describes one operation, and adds everything that all operations have in common. */
export function operation(parts: OperationParts): Operation {
  const { id, tag, summary, description, parameters = [], body, isForSuperusers = false } = parts;
  const statuses = new Set<RefusalStatus>([
    ...refusedAnywhere,
    ...(body === undefined ? [] : refusedWithBody),
    ...(parts.refusals ?? []),
  ]);
  const refusals = [...statuses].map((status) => [status, refusal(status)] as const);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: isForSuperusers ? [{ token: [] }] : [{}, { token: [] }],
    ...(parameters.length === 0
      ? {}
      : { parameters: parameters.map((name) => reference('parameters', name)) }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: parts.isBodyOptional !== true,
            content: { 'application/json': { schema: body }, ...forms },
          },
        }),
    // Objects keep numeric keys in ascending order, whatever the order of insertion.
    responses: { ...Object.fromEntries(refusals), ...parts.answers },
  };
}

/** A JSON answer. `headers` are names of described headers by the names they have in the answer. */
export function jsonAnswer(
  description: string,
  schema: Schema,
  headers: Readonly<Record<string, string>> = {},
): Schema {
  return {
    description,
    headers: toHeaders(headers),
    content: { 'application/json': { schema } },
  };
}

/** An answer without a body. */
export function emptyAnswer(description: string, headers: Readonly<Record<string, string>> = {}): Schema {
  return { description, headers: toHeaders(headers) };
}

function toHeaders(headers: Readonly<Record<string, string>>): Schema {
  const all = { ...headers, 'X-Request-Id': 'RequestId' };
  return Object.fromEntries(Object.entries(all).map(([name, part]) => [name, reference('headers', part)]));
}
