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
  /** Beside those that every operation has. */
  readonly refusals?: readonly RefusalStatus[];
  readonly isForSuperusers?: boolean;
}

/**
 * Of every operation on an instance: a request that is none, an API key that is not valid, a superuser from another place than the settings say, an instance
 * that is unknown, a client that asks too often, a service that cannot.
 */
const refusedAnywhere = [400, 401, 403, 404, 429, 500, 503] as const;

/** A request method that carries a body can carry a wrong one. */
const refusedWithBody = [413, 415] as const;

/** One operation with everything that operations have in common. */
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
            content: { 'application/json': { schema: body } },
          },
        }),
    // Numbers are the keys of an object in ascending order, wherever they were added.
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
