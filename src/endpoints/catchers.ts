import { parseJson } from '../base/json.ts';
import { notFound } from '../base/errors.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { SecretError } from '../secrets/master-key.ts';
import type { Sealer } from '../secrets/seal.ts';
import { sql } from '../sql/sql.ts';
import { isSecretHeader, maskedValue } from '../sending/endpoint-request.ts';
import type { WebhookInstance } from './webhook-instance.ts';

/**
 * Catchers: URLs of this service that store requests, to inspect webhooks before there is a receiver. The id of
 * a catcher is sealed and has its expiry: only requests are stored. Webhooks for a catcher do not go
 * over the network (catcher-attempts.ts), so the guard of targets has no exception for them.
 */
export const catcherLimits = {
  /** How long a catcher accepts and returns requests. */
  lastsMs: 60 * 60_000,
  /** The newest requests of each that are kept. */
  requestsMax: 100,
  /** Of a body: the rest is truncated. */
  bodyBytesMax: 64 * 1024,
  /** Of all headers as JSON; later ones are left out. */
  headersLengthMax: 16 * 1024,
} as const;

/** A catcher, decoded from its id. */
export interface Catcher {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** A catcher, and the status that its URL requests, so that it can act as a failing receiver. */
export interface CatcherTarget extends Catcher {
  readonly status: number;
}

/** A request to a catcher. */
export interface CatcherRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A request as the API returns it. */
export interface CatcherRequestView {
  readonly id: string;
  readonly received: Timestamp;
  readonly method: string;
  readonly headers: unknown;
  readonly body: string;
  /** The length of the whole body in bytes; more than that of `body` when it was truncated. */
  readonly bodyBytes: number;
}

const place = { purpose: 'catcher', id: '' } as const;
/** The URL of a catcher: below the base URL of its instance, with the status of its responses. */
const catcherUrl =
  /^https?:\/\/[\w.:[\]-]{1,300}(?:\/[\w./~-]{0,200})?\/api\/webhooks\/catchers\/([\w.-]{1,200})\/requests(?:\?status=([2-5]\d\d))?$/i;

/** Makes a catcher. Nothing is stored before its first request. */
export function newCatcher({ sealer, dueClock }: Pick<WebhookInstance, 'sealer' | 'dueClock'>): Catcher {
  const expires = dueClock.now() + catcherLimits.lastsMs;
  return { id: sealer.seal(String(expires), place), expires };
}

/** Returns the path that receives the requests of a catcher. */
export function catcherPath({ id }: Catcher): string {
  return `/api/webhooks/catchers/${id}/requests`;
}

/** Returns the catcher whose URL this is; undefined when it is not one of this instance, whatever its host. An expired one is returned too. */
export function catcherOfUrl(sealer: Sealer, url: string): CatcherTarget | undefined {
  const [, id = '', status = '200'] = catcherUrl.exec(url) ?? [];
  const catcher = id === '' ? undefined : readCatcher(sealer, id);
  return catcher && { ...catcher, status: Number(status) };
}

function readCatcher(sealer: Sealer, id: string): Catcher | undefined {
  try {
    return { id, expires: Number(sealer.open(id, place)) };
  } catch (error) {
    if (error instanceof SecretError) return undefined;
    throw error;
  }
}

/** Returns the catcher with this id. Throws not_found for one of another instance, and for one that has expired. */
export function getCatcher(
  { sealer, dueClock }: Pick<WebhookInstance, 'sealer' | 'dueClock'>,
  id: string,
): Catcher {
  const catcher = readCatcher(sealer, id);
  if (catcher === undefined || catcher.expires <= dueClock.now()) throw notFound();
  return catcher;
}

/** Stores a request, and deletes older ones beyond the limit and those of expired catchers. */
export async function keepRequest(
  { database, dueClock }: Pick<WebhookInstance, 'database' | 'dueClock'>,
  { id: catcher, expires }: Catcher,
  { method, headers, body }: CatcherRequest,
): Promise<void> {
  const now = dueClock.now();
  const text = textOf(body);
  await database.write(async (tx) => {
    const { names } = tx;
    const table = names.table('$catcher_request');
    await tx.run(sql`
      INSERT INTO ${table} (${names.instance.column}catcher, expires, received, method, headers, body, body_bytes)
      VALUES (${names.instance.value}${catcher}, ${expires}, ${toTimestamp(now)},
        ${method}, ${headersText(headers)}, ${text}, ${body.length})`);
    await tx.run(sql`DELETE FROM ${table} WHERE ${names.instance.condition} AND expires <= ${now}`);
    await tx.run(sql`
      DELETE FROM ${table} WHERE ${names.instance.condition} AND catcher = ${catcher} AND number IN (
        SELECT number FROM ${table} WHERE ${names.instance.condition} AND catcher = ${catcher}
        ORDER BY number DESC LIMIT ${catcherLimits.requestsMax} OFFSET ${catcherLimits.requestsMax})`);
  });
}

/** PostgreSQL stores no NUL in a text. */
function textOf(body: Uint8Array): string {
  const excerpt = Buffer.from(body.subarray(0, catcherLimits.bodyBytesMax)).toString('utf8');
  return excerpt.toWellFormed().replaceAll('\0', '\uFFFD');
}

function headersText(headers: Readonly<Record<string, string>>): string {
  const entries: Record<string, string> = {};
  let length = 0;
  for (const [written, value] of Object.entries(headers)) {
    const name = written.toLowerCase();
    length += name.length + value.length;
    if (length > catcherLimits.headersLengthMax) break;
    // Signatures are shown, to debug their verification. Other secrets are not for every reader of a catcher.
    entries[name] = isSecretHeader(name) && !name.includes('signature') ? maskedValue : value;
  }
  return JSON.stringify(entries);
}

/** Returns the requests of a catcher, the newest first. */
export async function readRequests(
  { database }: Pick<WebhookInstance, 'database'>,
  { id }: Catcher,
): Promise<readonly CatcherRequestView[]> {
  const { names } = database;
  const rows = await database.tuples(sql`
    SELECT number, received, method, headers, body, body_bytes FROM ${names.table('$catcher_request')}
    WHERE ${names.instance.condition} AND catcher = ${id} ORDER BY number DESC LIMIT ${catcherLimits.requestsMax}`);
  return rows.map(([number, received, method, headers, body, bodyBytes]) => ({
    id: String(number),
    received: String(received),
    method: String(method),
    headers: parseJson(String(headers)),
    body: String(body),
    bodyBytes: Number(bodyBytes),
  }));
}

/** Deletes the requests of a catcher. */
export async function forgetRequests(
  { database }: Pick<WebhookInstance, 'database'>,
  { id }: Catcher,
): Promise<void> {
  await database.write(async (tx) => {
    const { names } = tx;
    await tx.run(
      sql`DELETE FROM ${names.table('$catcher_request')} WHERE ${names.instance.condition} AND catcher = ${id}`,
    );
  });
}
