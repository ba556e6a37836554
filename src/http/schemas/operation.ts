import { refusal, refusalsOf, type RefusalStatus } from './refusals.ts';
import { objectSchema, type Operation, reference, type Schema, schemaReference } from './schema.ts';

export interface OperationParts {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Names of described parameters. */
  readonly parameters?: readonly string[];
  /** Schema of the JSON body. */
  readonly body?: Schema;
  /** Schema of the body as a form with files, for an operation that takes them. */
  readonly form?: Schema;
  /** It takes a body of any kind as it is, in place of one of the schema. */
  readonly takesBytes?: boolean;
  /** It reads the body itself as it comes in, of one of these types. */
  readonly bodyTypes?: readonly string[];
  /** A body that may be left out, as all of its members may. */
  readonly isBodyOptional?: boolean;
  readonly answers: Readonly<Record<number, Schema>>;
  /** Further refusals than those that every operation has. */
  readonly refusals?: readonly RefusalStatus[];
  readonly isForSuperusers?: boolean;
  /** It is for operator keys alone. */
  readonly isForOperator?: boolean;
  /** It is about the process: nobody is signed in, and nothing is limited. */
  readonly isOutsideInstances?: boolean;
}

const anyForm: Schema = { type: 'object' };

/** A form, in words: generators that know only JSON bodies import the types of members of a form without making them. */
export function freeForm(description: string): Schema {
  return { ...anyForm, description };
}

/** Every JSON body may also be sent as a form, with the members of its schema as fields. */
function bodyContent(body: Schema, form: Schema): Schema {
  return {
    'application/json': { schema: body },
    'multipart/form-data': { schema: form },
    'application/x-www-form-urlencoded': { schema: anyForm },
  };
}

/** Describes one operation, and adds everything that all operations have in common. */
export function operation(parts: OperationParts): Operation {
  const { id, tag, summary, description, parameters = [], body, isForSuperusers = false } = parts;
  const statuses = refusalsOf(parts);
  const refusals = [...statuses].map((status) => [status, refusal(status)] as const);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security:
      parts.isForOperator === true
        ? [{ operatorKey: [] }]
        : isForSuperusers
          ? [{ token: [] }]
          : [{}, { token: [] }],
    ...(parameters.length === 0
      ? {}
      : { parameters: parameters.map((name) => reference('parameters', name)) }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: parts.isBodyOptional !== true,
            content: bodyContent(body, parts.form ?? anyForm),
          },
        }),
    ...(parts.takesBytes === true && { requestBody: { content: { '*/*': { schema: {} } } } }),
    ...(parts.bodyTypes && {
      requestBody: {
        required: true,
        content: Object.fromEntries(parts.bodyTypes.map((type) => [type, { schema: {} }])),
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

/** The headers of answers that mean something to clients. */
export const headers: Readonly<Record<string, Schema>> = {
  RequestId: {
    description: 'Identifies the request in the log of the service.',
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Seconds after which the same request may succeed.',
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimit: {
    description:
      'The remaining quota. On every answer to a request that a rate limit of the instance applies to.',
    schema: { type: 'string' },
  },
  RateLimitPolicy: {
    description: 'The rate limit of the request. On the same answers as `RateLimit`.',
    schema: { type: 'string' },
  },
  EntityTag: {
    description:
      '`"<revision>-<checksum>"`, of the record in this answer. For `If-Match` and `If-None-Match`.',
    schema: { type: 'string' },
  },
  ServerTiming: {
    description:
      '`query;desc="index"`, or `"scan"` if no index serves the filter or the sort. For superusers who send `explain`.',
    schema: { type: 'string' },
  },
  DocumentTag: {
    description: 'The tag of this document, for `If-None-Match`.',
    schema: { type: 'string' },
  },
  JobLocation: { description: 'The path of the job.', schema: { type: 'string' } },
  Replayed: {
    description: '`true` on an answer that was stored under an `Idempotency-Key`; otherwise absent.',
    schema: { type: 'string', const: 'true' },
  },
};

/** The body of every refusal. */
export const errorSchemas: Readonly<Record<string, Schema>> = {
  ErrorBody: objectSchema({
    data: schemaReference('FieldErrors'),
    message: { type: 'string', description: 'The error for people.' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
  }),
  FieldErrors: {
    type: 'object',
    description: 'The errors by member; nested for members of members.',
    additionalProperties: { anyOf: [schemaReference('FieldError'), schemaReference('FieldErrors')] },
  },
  FieldError: objectSchema(
    {
      code: { type: 'string', description: 'A stable code for programs.' },
      message: { type: 'string' },
      params: { type: 'object', additionalProperties: true, description: 'The parameters of the message.' },
      response: {
        ...schemaReference('ErrorBody'),
        description: 'For a request in a batch: the answer that it would have got alone.',
      },
    },
    ['params', 'response'],
  ),
};
