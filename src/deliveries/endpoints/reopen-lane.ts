import { isDeepStrictEqual } from 'node:util';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import type { Transaction } from '../../storage/database.ts';
import { closeLane, halfOpenLane } from '../lane-store.ts';

type LaneClock = Pick<WebhookInstance, 'dueClock'>;

/** Resets the lane where a change leads to another receiver, or may make it succeed. */
export async function reopenLane(
  tx: Transaction,
  saving: LaneClock,
  { before, after }: { readonly before: Endpoint; readonly after: Endpoint },
): Promise<void> {
  const isAnother = receiverMembers.some((name) => !isDeepStrictEqual(before[name], after[name]));
  if (isAnother) await renewLane(tx, saving, after.number);
}

/** Members that decide whether a receiver accepts a request. */
const receiverMembers = [
  'url',
  'headers',
  'secret',
  'oauth2',
  'clientCertificate',
  'ca',
  'timeoutMs',
  'payload',
] as const;

/** Closes a lane, or makes a probe due: one shows whether an endpoint that was down has recovered. */
export async function renewLane(tx: Transaction, { dueClock }: LaneClock, endpoint: number): Promise<void> {
  const isProbed = await halfOpenLane(tx, endpoint, { of: 'another receiver', now: dueClock.now() });
  if (!isProbed) await closeLane(tx, endpoint);
}
