import { Histogram, secondsBounds } from '../base/histogram.ts';
import { fromTimestamp } from '../base/timestamp.ts';
import { isTest } from '../events/event.ts';
import type { PendingDelivery } from '../deliveries/deliveries.ts';
import { type AttemptKind, attemptKinds, type AttemptResult } from '../sending/attempt-result.ts';

/** Retries go on for days. */
const deliveryBounds = [...secondsBounds, 30, 60, 300, 1_800, 7_200, 43_200, 259_200];

const stopReasons = ['gone', 'blocked', 'away'] as const;
/** Why the service stopped sending to an endpoint. */
export type StopReason = (typeof stopReasons)[number];

/** The counters of this process for attempts and deliveries; tests of endpoints count as attempts only. */
export class WebhookCounts {
  readonly attempts: Record<AttemptKind, number> = countsOf(attemptKinds);
  /** From the event to the moment when its first attempt was connected and began to be sent. */
  readonly firstByteSeconds = new Histogram(secondsBounds);
  /** From the event to the end of the response that delivers it. */
  readonly deliverySeconds = new Histogram(deliveryBounds);
  /** How many deliveries of each instance were delivered. */
  readonly deliveriesOf = new Map<string, { deliveries: number }>();
  /** Exhausted deliveries. */
  exhausted = 0;
  /** Stalled lanes that the sweep woke. */
  stalled = 0;
  readonly stopped: Record<StopReason, number> = countsOf(stopReasons);

  noteAttempt({ kind: event, created, state, isReplay }: PendingDelivery, result: AttemptResult): void {
    const { kind, startedAt, timings, isSuccess } = result;
    this.attempts[kind] += 1;
    // The event of a replay may be a month old.
    if (isTest(event) || isReplay || kind === 'aborted' || kind === 'refused') return;
    const isFirst = state.attempts === 0 && state.due === undefined;
    if (!isFirst && !isSuccess) return;
    const { dnsMs, connectMs, tlsMs, totalMs } = timings;
    const waitedMs = startedAt - fromTimestamp(created);
    const isConnected = timings.firstByteMs !== null;
    if (isFirst && isConnected)
      this.firstByteSeconds.noteMs(Math.max(0, waitedMs + (dnsMs ?? 0) + (connectMs ?? 0) + (tlsMs ?? 0)));
    if (isSuccess) this.deliverySeconds.noteMs(Math.max(0, waitedMs + (totalMs ?? 0)));
  }
}

/** Counts a delivery that was delivered. */
export function noteDelivered({ deliveriesOf }: WebhookCounts, instanceId: string): void {
  const counts = deliveriesOf.get(instanceId);
  if (counts === undefined) deliveriesOf.set(instanceId, { deliveries: 1 });
  else counts.deliveries += 1;
}

function countsOf<Name extends string>(names: readonly Name[]): Record<Name, number> {
  // Every name has an entry.
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
