import PocketBase, { BaseAuthStore, ClientResponseError, LocalAuthStore } from 'pocketbase';
import type { Operations, Schemas } from './schema.ts';

/** Where the dashboard is: `/_/`, `/i/shop/_/`, or whatever a proxy has made of it. Ends with a slash. */
export const basePath = new URL(document.baseURI).pathname;

/** Where the API of the same instance is, without a slash at its end. */
export const apiUrl = new URL('..', document.baseURI).href.replace(/\/$/, '');

/** The official SDK: records, sign-in and realtime go through it, and our own routes through its `send` (see `call`). */
export const client = new PocketBase(
  apiUrl,
  mayKeep() ? new LocalAuthStore(`chancery:${basePath}:session`) : new BaseAuthStore(),
);

/** The id of the request, which the log of the service has too. Errors show it. */
const requestIdMember = 'requestId';

/** Fires `expired` when the service takes our token no more. */
export const expired = watchAnswers(client);

/** Fires `lost` when no answer came: the service is stopped, or the way to it is broken. */
export const lost = new EventTarget();

/** Whether the browser keeps something for us. In a frame of another site it may not: the session then lasts as long as the page. */
function mayKeep(): boolean {
  try {
    return typeof localStorage === 'object';
  } catch {
    return false;
  }
}

/** Has each refusal bear the id of its request. Returns what fires `expired` when the token of the client is taken no more. */
export function watchAnswers(sender: PocketBase): EventTarget {
  // Every request has a signal of its own where it may become needless. The SDK would end requests that only look alike.
  sender.autoCancellation(false);
  const target = new EventTarget();
  sender.afterSend = (response: Response, body: unknown): unknown => {
    if (isCutOff(response, body)) throw new Error('The response is not JSON, or was cut off.');
    if (response.status < 400 || typeof body !== 'object' || body === null) return body;
    // An expired token makes its bearer a guest, who gets a 401 wherever only superusers may go.
    if (response.status === 401 && sender.authStore.token !== '' && !('mfaId' in body))
      target.dispatchEvent(new Event('expired'));
    return { ...body, [requestIdMember]: response.headers.get('x-request-id') ?? '' };
  };
  return target;
}

/**
 * True for a success whose body could not be read: the page was left or the connection broke in the middle of it, or something in between has
 * answered. The SDK takes that for an object without members, and would save a session without a token.
 */
function isCutOff({ status, headers }: Response, body: unknown): boolean {
  const isEmpty = typeof body === 'object' && body !== null && Object.keys(body).length === 0;
  return isEmpty && status < 400 && status !== 204 && headers.get('content-length') !== '2';
}

/** The definition of a collection. */
export type Collection = Schemas['Collection'];
export type Field = Schemas['CollectionField'];
export type RecordModel = Schemas['AnyRecord'];

/** What calls an operation of spec/openapi.json. */
export interface CallOptions<Key extends keyof Operations> {
  /** The values of the names in the path. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Operations[Key]['query'];
  readonly body?: Operations[Key]['body'];
  readonly signal?: AbortSignal;
}

/** Calls an operation of spec/openapi.json. Throws Failure. */
export async function call<Key extends keyof Operations>(
  key: Key,
  options: CallOptions<Key> = {},
): Promise<Operations[Key]['answer']> {
  return callBy(client, key, options);
}

/** The same with the token of another client. */
export async function callBy<Key extends keyof Operations>(
  sender: PocketBase,
  key: Key,
  { path = {}, query, body, signal }: CallOptions<Key> = {},
): Promise<Operations[Key]['answer']> {
  const [method = '', template = ''] = key.split(' ');
  const url = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  const options = {
    method,
    ...(query !== undefined && { query: { ...query } }),
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
  };
  return orFailure(sender.send<Operations[Key]['answer']>(url, options));
}

/** Why the service, or the way to it, did not do what was wanted. */
export class Failure extends Error {
  /** 0 when no answer came. */
  readonly status: number;
  /** What is wrong by field, in the words of the service; nested members by their paths: `fields.0.name`. */
  readonly fields: ReadonlyMap<string, string>;
  readonly requestId: string;
  /** Of a sign-in that needs another factor. */
  readonly mfaId: string | undefined;
  readonly isAborted: boolean;

  constructor(cause: ClientResponseError) {
    const body: Readonly<Record<string, unknown>> = cause.response;
    super(messageOf(cause, body), { cause });
    this.name = 'Failure';
    this.status = cause.status;
    this.fields = new Map(fieldMessages(body['data'], ''));
    this.requestId = textOf(body[requestIdMember]);
    this.mfaId = textOf(body['mfaId']) || undefined;
    this.isAborted = cause.isAbort;
    if (this.status === 0 && !this.isAborted) lost.dispatchEvent(new Event('lost'));
  }
}

/** Resolves as the SDK does, and rejects with a Failure for each error of the SDK. */
export async function orFailure<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ClientResponseError ? new Failure(error) : error;
  }
}

function messageOf(cause: ClientResponseError, body: Readonly<Record<string, unknown>>): string {
  if (cause.status === 0) return 'The service cannot be reached. It may be stopped, or the network is down.';
  return textOf(body['message']) || `The service answered with ${cause.status}.`;
}

/** Messages by the paths of their fields: `url`, `headers.x-shop`. */
export function* fieldMessages(data: unknown, path: string): Generator<readonly [string, string]> {
  if (typeof data !== 'object' || data === null) return;
  for (const [name, value] of Object.entries(data)) {
    // Object.entries gives any.
    const member: unknown = value;
    if (typeof member !== 'object' || member === null) continue;
    const message = 'message' in member ? textOf(member.message) : '';
    if (message !== '' && 'code' in member) yield [path + name, message];
    else yield* fieldMessages(member, `${path}${name}.`);
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
