import type { Clock } from '../base/clock.ts';
import { Busy } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Ownership } from './delivery.ts';
import type { InstanceLanes } from './lanes/lanes.ts';
import type { Claims, Scheduler } from './lanes/scheduler.ts';
import type { WebhookInstanceLoan } from './webhook-instance.ts';

/** When an instance is tried again that could not be opened because others leave no room. */
const roomRetryMs = 100;
/** When one is tried again that could not be opened for another reason. */
const failedRetryMs = 60_000;

interface Opening {
  readonly ownership: Pick<Ownership, 'owns'>;
  /** Throws Busy where the instance could only be opened later. */
  readonly borrowAtOnce: (instanceId: string) => Promise<WebhookInstanceLoan | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Opens an instance to deliver its webhooks. Returns undefined where that cannot be done now; it is tried again later. */
export async function openLanes(
  { ownership, borrowAtOnce, clock, logger }: Opening,
  { claims, scheduler }: { readonly claims: Claims; readonly scheduler: Scheduler },
  id: string,
): Promise<InstanceLanes | undefined> {
  if (!ownership.owns(id)) return undefined;
  try {
    const loan = await borrowAtOnce(id);
    return loan === undefined ? undefined : claims.add(loan);
  } catch (error) {
    if (error instanceof Busy) {
      scheduler.setDue(id, clock.now() + roomRetryMs);
      return undefined;
    }
    logger.error('An instance could not be opened to deliver its webhooks.', { instance: id, error });
    scheduler.setDue(id, clock.now() + failedRetryMs);
    return undefined;
  }
}
