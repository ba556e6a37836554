import { assert } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import { limit } from '../sql/limit.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import type { IdempotentRequest } from './idempotent-request.ts';

/**
 * The map of this folder: a write that is asked for again under its `Idempotency-Key` is not done again.
 *
 *   idempotentRequest   the key and what is asked under it, as digests
 *   runOnce             in the transaction of the write: claims the key, does the work, keeps the answer
 *
 * Claim, work and answer are committed together or not at all, so what was refused may be asked again. A twin in flight waits
 * at the claim: on SQLite writes come one after the other, on PostgreSQL for the lock on the row.
 */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, if there is one. */
  readonly json: string | undefined;
}

export interface NewAnswer extends KeptAnswer {
  /** What is kept of a body that is too large: which records it was about. */
  readonly idsJson: () => string;
}

export interface OnceOptions {
  readonly request: IdempotentRequest;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface OnceResult {
  readonly answer: KeptAnswer;
  /** Whether this is what an earlier request was answered. */
  readonly isReplayed: boolean;
}

export const idempotencyLimits = {
  keptMs: 24 * 60 * 60 * 1000,
  /** Bytes of a body that is kept as it is. */
  bodyBytesMax: 256 * 1024,
  /** How many expired answers a write takes away: more than the one it adds, and few enough not to be felt. */
  removedMax: 16,
} as const;

/** Throws what the work throws, and unprocessable when another request was answered under the key. */
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
    // Written by `keep`, from a record of texts.
    headers: JSON.parse(String(headers)) as Record<string, string>,
    json: typeof body === 'string' ? body : undefined,
  };
}

/** Undefined when the key is ours now; else what a twin, who has it and is done, was answered. */
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

/** Those that another write is taking away, or claiming anew, are left to it: nobody waits here. */
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
