import type { Caller } from '../access/caller.ts';
import { assert, unreachable } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import type { Sealer } from '../secrets/seal.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';

/**
 * A write that is repeated under its `Idempotency-Key` is not done again.
 *
 *   idempotentRequest   the key and the request under it, as digests
 *   runOnce             in the transaction of the write: claims the key, does the work, stores the answer
 *
 * Claim, work and answer are committed together or not at all, so a refused request may be repeated. A concurrent repetition waits
 * at the claim: on SQLite because writes run one after the other, on PostgreSQL for the row lock.
 */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, if there is one. */
  readonly json: string | undefined;
}

export interface NewAnswer extends StoredAnswer {
  /** Stored in place of a body that is too large: the ids of its records. */
  readonly idsJson: () => string;
}

export interface OnceOptions {
  readonly request: IdempotentRequest;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface OnceResult {
  readonly answer: StoredAnswer;
  /** True when this is the answer of an earlier request. */
  readonly isReplayed: boolean;
}

export const idempotencyLimits = {
  lifetimeMs: 24 * 60 * 60 * 1000,
  /** Bytes of the largest body that is stored whole. */
  bodyBytesMax: 256 * 1024,
  /** Expired answers that a write deletes: more than the one that it adds, and few enough not to slow it down. */
  removedMax: 16,
} as const;

/** Runs the work unless its request was already answered. Throws what the work throws, and unprocessable for a key of another request. */
export async function runOnce(
  tx: Transaction,
  { request, now }: OnceOptions,
  work: () => Promise<NewAnswer>,
): Promise<OnceResult> {
  const earlier = (await findAnswer(tx, request, now)) ?? (await claim(tx, request, now));
  if (earlier !== undefined) return { answer: earlier, isReplayed: true };
  const answer = await work();
  await tx.inOrder([() => storeAnswer(tx, request, answer), () => removeExpired(tx, now)]);
  return { answer, isReplayed: false };
}

/** Returns the answer to an earlier request under the key, if there is one. Throws unprocessable for a key of another request. */
export async function findAnswer(
  reader: Reader,
  request: IdempotentRequest,
  now: number,
): Promise<StoredAnswer | undefined> {
  const [row] = await reader.tuples(sql`
    SELECT content, status, headers, body FROM ${table(reader)}
    WHERE ${reader.names.instance.condition} AND id = ${request.id} AND expires > ${now}`);
  if (row === undefined) return undefined;
  const [content, status, headers, body] = row;
  if (content !== request.content) {
    throw new AppError('unprocessable', 'The idempotency key was used with another request.');
  }
  return {
    status: Number(status),
    // The cast holds: `storeAnswer` wrote it, from a record of strings.
    headers: JSON.parse(String(headers)) as Record<string, string>,
    json: typeof body === 'string' ? body : undefined,
  };
}

/** Claims the key. Returns undefined on success, else the answer of the concurrent repetition that claimed it first. */
async function claim(
  tx: Transaction,
  request: IdempotentRequest,
  now: number,
): Promise<StoredAnswer | undefined> {
  const claimed = await tx.run(sql`
    INSERT INTO ${table(tx)} AS kept (${tx.names.instance.column}id, content, expires, status, headers, body)
    VALUES (${tx.names.instance.value}${request.id}, ${request.content}, ${now + idempotencyLimits.lifetimeMs}, 0, '', NULL)
    ON CONFLICT (${tx.names.instance.column}id) DO UPDATE SET content = excluded.content, expires = excluded.expires
    WHERE kept.expires <= ${now}`);
  if (claimed > 0) return undefined;
  const earlier = await findAnswer(tx, request, now);
  assert(earlier !== undefined, 'a key that cannot be claimed has an answer');
  return earlier;
}

async function storeAnswer(tx: Transaction, request: IdempotentRequest, answer: NewAnswer): Promise<void> {
  const { status, headers, json } = answer;
  const isLarge = json !== undefined && Buffer.byteLength(json) > idempotencyLimits.bodyBytesMax;
  const body = isLarge ? answer.idsJson() : (json ?? null);
  await tx.run(sql`
    UPDATE ${table(tx)} SET status = ${status}, headers = ${JSON.stringify(headers)}, body = ${body}
    WHERE ${tx.names.instance.condition} AND id = ${request.id}`);
}

/** Deletes expired answers. Skips rows that another write has locked, so that no write waits here. */
async function removeExpired(tx: Transaction, now: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    DELETE FROM ${table(tx)} WHERE ${names.instance.condition} AND id IN (
      SELECT id FROM ${table(tx)} WHERE ${names.instance.condition} AND expires <= ${now}
      ORDER BY expires${limit(idempotencyLimits.removedMax)}${names.locks.skipLocked})`);
}

function table({ names }: Reader): Sql {
  return names.table('$idempotency');
}

/** A request under an `Idempotency-Key`, as two digests. They are keyed with a secret of the instance, as a body may hold a password. */
export interface IdempotentRequest {
  /** Digest of caller, method, path and key: equal for all repetitions of a request. */
  readonly id: string;
  /** Digest of everything else that decides what is done. It distinguishes a repetition from another request under the same key. */
  readonly content: string;
}

/** A caller of an instance, or an operator key. */
export type IdempotentCaller = Caller | { readonly kind: 'operatorKey'; readonly id: string };

export interface RequestParts {
  readonly sealer: Sealer;
  readonly caller: IdempotentCaller;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly ifMatch: string | undefined;
  /** The parsed body, since the bytes of a multipart body have another boundary each time. */
  readonly body: unknown;
}

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Throws bad_request for an invalid key. */
export function idempotentRequest(key: string, parts: RequestParts): IdempotentRequest {
  if (!KEY.test(key)) {
    throw new AppError('bad_request', 'Expected an Idempotency-Key of 1 to 255 printable ASCII characters.');
  }
  const { sealer, caller, method, path, query, ifMatch, body } = parts;
  return {
    id: sealer.fingerprint(JSON.stringify([callerText(caller), method, path, key])),
    content: sealer.fingerprint(JSON.stringify([query, ifMatch ?? null, body ?? null])),
  };
}

/** Identifies the caller. All guests count as one, because nothing distinguishes them. */
function callerText(caller: IdempotentCaller): string {
  switch (caller.kind) {
    case 'guest':
      return 'guest';
    case 'operatorKey':
      return `operator key ${caller.id}`;
    case 'user':
      return `user ${caller.collectionId} ${caller.id}${caller.portal === undefined ? '' : ` portal ${caller.portal}`}`;
    case 'superuser':
      return `${caller.key === undefined ? 'superuser' : 'key'} ${caller.id}`;
    default:
      return unreachable(caller);
  }
}
