import { assert } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import { limit } from '../sql/limit.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import type { IdempotentRequest } from './idempotent-request.ts';

/**
 * The map of this folder: a write that is repeated under its `Idempotency-Key` is not done again.
 *
 *   idempotentRequest   the key and the request under it, as digests
 *   runOnce             in the transaction of the write: claims the key, does the work, keeps the answer
 *
 * Claim, work and answer are committed together or not at all, so a refused request may be repeated. A concurrent repetition waits
 * at the claim: on SQLite because writes run one after the other, on PostgreSQL for the row lock.
 */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, if there is one. */
  readonly json: string | undefined;
}

export interface NewAnswer extends KeptAnswer {
  /** Kept in place of a body that is too large: the ids of its records. */
  readonly idsJson: () => string;
}

export interface OnceOptions {
  readonly request: IdempotentRequest;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface OnceResult {
  readonly answer: KeptAnswer;
  /** True when this is the answer of an earlier request. */
  readonly isReplayed: boolean;
}

export const idempotencyLimits = {
  keptMs: 24 * 60 * 60 * 1000,
  /** Bytes of the largest body that is kept whole. */
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
  const known = (await findAnswer(tx, request, now)) ?? (await claim(tx, request, now));
  if (known !== undefined) return { answer: known, isReplayed: true };
  const answer = await work();
  await tx.inOrder([() => keep(tx, request, answer), () => removeExpired(tx, now)]);
  return { answer, isReplayed: false };
}

async function findAnswer(
  tx: Transaction,
  request: IdempotentRequest,
  now: number,
): Promise<KeptAnswer | undefined> {
  const [row] = await tx.tuples(sql`
    SELECT content, status, headers, body FROM ${table(tx)}
    WHERE ${tx.names.scope} AND id = ${request.id} AND expires > ${now}`);
  if (row === undefined) return undefined;
  const [content, status, headers, body] = row;
  if (content !== request.content) {
    throw new AppError('unprocessable', 'The idempotency key was used with another request.');
  }
  return {
    status: Number(status),
    // The cast holds: `keep` wrote it, from a record of strings.
    headers: JSON.parse(String(headers)) as Record<string, string>,
    json: typeof body === 'string' ? body : undefined,
  };
}

/** Claims the key. Returns undefined on success, else the answer of the concurrent repetition that claimed it first. */
async function claim(
  tx: Transaction,
  request: IdempotentRequest,
  now: number,
): Promise<KeptAnswer | undefined> {
  const claimed = await tx.run(sql`
    INSERT INTO ${table(tx)} AS kept (${tx.names.scopeColumn}id, content, expires, status, headers, body)
    VALUES (${tx.names.scopeValue}${request.id}, ${request.content}, ${now + idempotencyLimits.keptMs}, 0, '', NULL)
    ON CONFLICT (${tx.names.scopeColumn}id) DO UPDATE SET content = excluded.content, expires = excluded.expires
    WHERE kept.expires <= ${now}`);
  if (claimed > 0) return undefined;
  const known = await findAnswer(tx, request, now);
  assert(known !== undefined, 'a key that cannot be claimed has an answer');
  return known;
}

async function keep(tx: Transaction, request: IdempotentRequest, answer: NewAnswer): Promise<void> {
  const { status, headers, json } = answer;
  const isLarge = json !== undefined && Buffer.byteLength(json) > idempotencyLimits.bodyBytesMax;
  const body = isLarge ? answer.idsJson() : (json ?? null);
  await tx.run(sql`
    UPDATE ${table(tx)} SET status = ${status}, headers = ${JSON.stringify(headers)}, body = ${body}
    WHERE ${tx.names.scope} AND id = ${request.id}`);
}

/** Deletes expired answers. Skips rows that another write has locked, so that no write waits here. */
async function removeExpired(tx: Transaction, now: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    DELETE FROM ${table(tx)} WHERE ${names.scope} AND id IN (
      SELECT id FROM ${table(tx)} WHERE ${names.scope} AND expires <= ${now}
      ORDER BY expires${limit(idempotencyLimits.removedMax)}${names.skipLocked})`);
}

function table(tx: Transaction): Sql {
  return tx.names.table('$idempotency');
}
