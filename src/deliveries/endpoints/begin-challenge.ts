import { toTimestamp } from '../../base/timestamp.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import { sendingStatus } from '../../endpoints/must-verify.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction } from '../../storage/database.ts';
import { sendWaiting } from '../delivery-outcomes.ts';
import { changeEndpoint } from './change-endpoint.ts';
import { renewLane } from './reopen-lane.ts';

/** For this time nobody else may challenge the same receiver. Longer than a challenge and what is stored of it take. */
const leaseMs = 30_000;

/** Reserves an endpoint for a challenge, over all processes; returns whether that succeeded. The lease ends by itself if this process dies. */
export async function beginChallenge(
  { database, dueClock }: Pick<WebhookInstance, 'database' | 'dueClock'>,
  { number }: Pick<Endpoint, 'number'>,
): Promise<boolean> {
  const { names } = database;
  const now = dueClock.now();
  const rows = await database.write((tx) =>
    tx.returning(sql`
      UPDATE ${names.table('$endpoint')} SET challenged_until = ${now + leaseMs}
      WHERE ${names.instance.condition} AND position = ${number} AND (challenged_until <= ${now} OR challenged_until > ${now + leaseMs})
      RETURNING position`),
  );
  return rows.length > 0;
}

/** Ends the lease of {@link beginChallenge} where no outcome is stored. */
export async function endChallenge(
  { database }: Pick<WebhookInstance, 'database'>,
  { number }: Pick<Endpoint, 'number'>,
): Promise<void> {
  await database.write((tx) => endLease(tx, number));
}

async function endLease(tx: Transaction, number: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$endpoint')} SET challenged_until = 0 WHERE ${names.instance.condition} AND position = ${number}`);
}

/** How a receiver has answered a challenge. */
export type ChallengeOutcome =
  /** `rateLimit`: requests per second that it allows; 0 where it did not say. */
  | { readonly kind: 'confirmed'; readonly rateLimit: number }
  | { readonly kind: 'failed'; readonly reason: string }
  /** It was not asked, and need not be. */
  | { readonly kind: 'unneeded' };

/**
 * Stores how the receiver of an endpoint has answered, and returns the endpoint. The lease ends with that, as whoever resumes the endpoint
 * next has its receiver challenged again. Nothing else changes where the URL is another by now: the answer says nothing about that. Throws
 * not_found.
 */
export async function saveOutcome(
  instance: WebhookInstance,
  endpoint: Pick<Endpoint, 'id' | 'url'>,
  outcome: ChallengeOutcome,
): Promise<Endpoint> {
  const changed = await changeEndpoint(instance, endpoint.id, async (tx, existing) => {
    if (outcome.kind !== 'unneeded') await endLease(tx, existing.number);
    if (existing.url !== endpoint.url || existing.verified !== '') return existing;
    const after = afterOutcome(instance, existing, outcome);
    await instance.endpoints.update(tx, after);
    if (after.status === 'active') await renewLane(tx, instance, after.number);
    return after;
  });
  if (changed.status === 'active') await sendWaiting(instance, changed.number);
  return changed;
}

function afterOutcome(instance: WebhookInstance, existing: Endpoint, outcome: ChallengeOutcome): Endpoint {
  const isWaiting = existing.status === 'unverified';
  if (outcome.kind === 'failed')
    return isWaiting
      ? { ...existing, statusReason: `Its receiver is not verified: ${outcome.reason}` }
      : existing;
  if (outcome.kind === 'unneeded')
    return isWaiting ? { ...existing, ...sendingStatus(instance, existing) } : existing;
  const { rateLimit } = outcome;
  const isLower = rateLimit > 0 && (existing.rateLimit === 0 || rateLimit < existing.rateLimit);
  const confirmed = {
    ...existing,
    verified: toTimestamp(instance.clock.now()),
    ...(isLower && { rateLimit }),
  };
  return isWaiting ? { ...confirmed, ...sendingStatus(instance, confirmed) } : confirmed;
}
