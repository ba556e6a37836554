import { closeLane, halfOpenLane } from '../lane-store.ts';
import { readLane } from '../list-lanes.ts';
import { sendWaiting } from '../delivery-outcomes.ts';
import { changeEndpoint, type LaneSaving } from './change-endpoint.ts';

/** Makes a probe of an endpoint due at once if its breaker is open, whichever node sends to it. Throws not_found. */
export async function tryEndpoint(saving: LaneSaving, id: string): Promise<void> {
  const { number } = await saving.endpoints.get(saving.database, id);
  const { state, heldUntil } = await readLane(saving.database, number);
  const now = saving.dueClock.now();
  // Most are not: an exclusive change would block all writes.
  if (state !== 'open' && heldUntil <= now) return;
  await changeEndpoint(saving, id, (tx) => halfOpenLane(tx, number, { of: 'same receiver', now }));
}

/** Closes the breaker of an endpoint whose receiver has just accepted a test, and makes failed deliveries due. Throws not_found. */
export async function closeBreaker(saving: LaneSaving, id: string): Promise<void> {
  const { number } = await saving.endpoints.get(saving.database, id);
  const { state } = await readLane(saving.database, number);
  if (state !== 'open' && state !== 'slow') return;
  await changeEndpoint(saving, id, (tx) => closeLane(tx, number));
  await sendWaiting(saving, number);
}
