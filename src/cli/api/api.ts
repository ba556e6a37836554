import { printable } from '../../base/printable.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';

/**
 * The service as commands use it. Every command works on one that runs elsewhere (remote-api.ts) and on data of this machine
 * (local-api.ts) alike: both are asked the same requests.
 */
export interface Api {
  /** Where it is, for people: its URL, or the data. */
  readonly place: string;
  /** Resolves to what is answered with a status below 400. Throws ApiRefusal, Unreachable. */
  request(method: ApiMethod, path: string, options?: ApiRequest): Promise<ApiAnswer>;
}

export type ApiMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ApiRequest {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
  /** How long the service may wait before it answers, on top of the usual. */
  readonly waitMs?: number;
}

export interface ApiAnswer {
  readonly status: number;
  /** Undefined for an answer without a body. */
  readonly json: unknown;
}

/** A request and its answer as text. */
export type Transport = (request: SentRequest) => Promise<ReceivedAnswer>;

export interface SentRequest {
  readonly method: ApiMethod;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

export interface ReceivedAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** Where it says that the answer is, of a redirection. */
  readonly location?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** The service has refused a request. The message is one line. */
export class ApiRefusal extends CommandError {
  override readonly name = 'ApiRefusal';
  readonly status: number;
  /** The refused values by name, as the service has answered. */
  readonly details: JsonObject;
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, { status, details, retryAfterSeconds }: RefusalParts) {
    super(exitCodeOfStatus(status), message);
    this.status = status;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

type RefusalParts = Pick<ApiRefusal, 'status' | 'details' | 'retryAfterSeconds'>;

/** No service has answered. The message is one line. */
export class Unreachable extends CommandError {
  override readonly name = 'Unreachable';

  constructor(message: string, options?: ErrorOptions) {
    super(exitCodes.unavailable, message, options);
  }
}

const answerMsMax = 60_000;

/** Makes an Api of what carries its requests. */
export function apiOver(place: string, transport: Transport): Api {
  return {
    place,
    request: async (method, path, options = {}) => {
      const { query = {}, body, signal, waitMs = 0 } = options;
      const late = AbortSignal.timeout(answerMsMax + waitMs);
      const headers = { accept: 'application/json', ...typeOf(body), ...options.headers };
      const answer = await transport({
        method,
        path: `${path}${queryText(query)}`,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: signal === undefined ? late : AbortSignal.any([signal, late]),
      }).catch((error: unknown) => {
        if (!late.aborted) throw error;
        const seconds = (answerMsMax + waitMs) / 1_000;
        throw new Unreachable(`${place} has not answered within ${seconds} s.`, { cause: error });
      });
      const json = readJson(place, answer);
      if (answer.status >= 400) throw refusalOf(path, answer, json);
      return { status: answer.status, json };
    },
  };
}

function typeOf(body: unknown): Readonly<Record<string, string>> {
  return body === undefined ? {} : { 'content-type': 'application/json' };
}

function queryText(query: NonNullable<ApiRequest['query']>): string {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** Throws Unreachable for what the service would never answer: something else is there. */
function readJson(place: string, { status, type, text, location }: ReceivedAnswer): unknown {
  if (status >= 300 && status < 400) {
    const to = location === undefined ? '' : ` to ${location}`;
    throw new Unreachable(`${place} redirects${to}: give the URL of the service itself.`);
  }
  if (text === '') return undefined;
  try {
    if (type.startsWith('application/json')) {
      const json: unknown = JSON.parse(text);
      return json;
    }
  } catch {
    // Said below.
  }
  const format = type === '' ? 'something else' : type.split(';', 1)[0];
  throw new Unreachable(
    `${place} is not Chancery: it answered ${status} with ${format} where JSON was expected.`,
  );
}

/** Returns one line of the envelope that every refusal comes in: its message, and the first refused value. */
function refusalOf(path: string, { status, retryAfterSeconds }: ReceivedAnswer, json: unknown): ApiRefusal {
  const envelope = isJsonObject(json) ? json : {};
  const details = isJsonObject(envelope['data']) ? envelope['data'] : {};
  const answered = typeof envelope['message'] === 'string' ? envelope['message'] : `It answered ${status}.`;
  const message = status === 404 ? (absence(path) ?? answered) : answered;
  return new ApiRefusal(printable(withDetails(message, details)), {
    status,
    details,
    retryAfterSeconds,
  });
}

/** What a path names, where the answer does not: it must not tell guests what exists. */
const subjects: readonly (readonly [pattern: RegExp, of: (...names: readonly string[]) => string])[] = [
  [
    /^\/api\/collections\/([^/]+)\/records\/([^/]+)\/(?:history|revert)$/,
    (name, id) => `record ${id} in a collection ${name}, and the event log has nothing of one`,
  ],
  [/^\/api\/collections\/([^/]+)\/records\/([^/]+)$/, (name, id) => `record ${id} in a collection ${name}`],
  [/^\/api\/collections\/([^/]+)(?:\/records|\/truncate)?$/, (name) => `collection ${name}`],
  [/^\/api\/webhooks\/endpoints\/([^/]+)/, (id) => `endpoint ${id}`],
  [/^\/api\/webhooks\/deliveries\/([^/]+)/, (id) => `delivery ${id}`],
  [/^\/api\/webhooks\/events\/([^/]+)(?:\/body)?$/, (id) => `event ${id}`],
];

/** Returns which thing is not there, as a sentence; undefined for other paths. */
function absence(path: string): string | undefined {
  for (const [pattern, of] of subjects) {
    const match = pattern.exec(path);
    if (match !== null)
      return `There is no ${of(...match.slice(1).map((name) => decodeURIComponent(name)))}.`;
  }
  return undefined;
}

/** Returns one line of the envelope of an error that an answer tells of. */
export function errorText(envelope: JsonObject): string {
  const { message, data } = envelope;
  return printable(withDetails(String(message), isJsonObject(data) ? data : {}));
}

/** Returns a message with the refused values in parentheses, as `Failed to create record. (title: Cannot be blank.)`. */
function withDetails(message: string, details: JsonObject): string {
  const texts = refusedValues(details).map((value) => `${value.name}: ${value.message}`);
  // The message may be that of the only value.
  if (texts.length === 1 && texts[0]?.endsWith(`: ${message}`) === true) return texts[0];
  return texts.length === 0 ? message : `${message} (${texts.join(' ')})`;
}

export interface RefusedValue {
  /** A path with dots where it is nested. */
  readonly name: string;
  readonly message: string;
}

/** Returns the refused values of a refusal's details, in their order. */
export function refusedValues(details: JsonObject, within = ''): readonly RefusedValue[] {
  return Object.entries(details).flatMap(([key, detail]) => {
    if (!isJsonObject(detail)) return [];
    const name = `${within}${key}`;
    const { message } = detail;
    return typeof message === 'string' ? [{ name, message }] : refusedValues(detail, `${name}.`);
  });
}

const codesOfStatuses: Readonly<Record<number, number>> = {
  401: exitCodes.permission,
  403: exitCodes.permission,
  429: exitCodes.unavailable,
  507: exitCodes.io,
};

/** Returns the code that a command ends with after a refusal of this status. */
function exitCodeOfStatus(status: number): number {
  return codesOfStatuses[status] ?? (status >= 500 ? exitCodes.unavailable : exitCodes.refused);
}

/** Returns an answer as an object. Throws Unreachable when it is none. */
export function objectOf({ json }: ApiAnswer): JsonObject {
  if (isJsonObject(json)) return json;
  throw new Unreachable('The answer has another form than was expected: is it Chancery, of this version?');
}

/** Returns the items of a page of a list. Throws Unreachable when it is none. */
export function itemsOf(answer: ApiAnswer): readonly JsonObject[] {
  const { items } = objectOf(answer);
  if (Array.isArray(items)) return items.filter(isJsonObject);
  return [objectOf({ status: answer.status, json: items })];
}

/** Returns the path of a collection's records, or of one of them. */
export function recordsPath(collection: string, id?: string): string {
  const path = `/api/collections/${encodeURIComponent(collection)}/records`;
  return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
}
