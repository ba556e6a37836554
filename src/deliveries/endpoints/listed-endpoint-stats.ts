import { type Timestamp } from '../../base/timestamp.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { readDayCounts } from '../endpoint-hours.ts';
import { closedLane, type LaneMemory } from '../lane.ts';
import { readLanes } from '../lane-store.ts';
import { type LaneState, laneState } from '../list-lanes.ts';
import { countWaitingOfEach } from '../log/count-waiting.ts';

/** How an endpoint does, for lists: the attempts of the last 24 hours, what waits, and the state of its lane. */
export interface ListedEndpointStats {
  readonly attempts: number;
  readonly delivered: number;
  readonly exhausted: number;
  /** Between 0 and 1; null when nothing was attempted. */
  readonly successRate: number | null;
  readonly waiting: number;
  /** Whether more may wait than were counted. */
  readonly waitingIsAtLeast: boolean;
  /** The time of the oldest event among those; empty when there is none. */
  readonly oldestWaiting: Timestamp;
  readonly lane: LaneState;
}

/** Reads the statistics of a page of endpoints, by their numbers: a few statements, however many endpoints there are. */
export async function listedEndpointStats(
  { database, clock }: Pick<WebhookInstance, 'database' | 'clock'>,
  endpoints: readonly Endpoint[],
): Promise<ReadonlyMap<number, ListedEndpointStats>> {
  if (endpoints.length === 0) return new Map();
  const now = clock.now();
  const lanes = await readLanes(database);
  const cursors = new Map(endpoints.map(({ number }) => [number, lanes.get(number)?.cursor ?? 0]));
  const counts = await readDayCounts(database, [...cursors.keys()], now);
  const waiting = await countWaitingOfEach(database, cursors);
  return new Map(
    endpoints.map(({ number }) => {
      const { attempts = 0, delivered = 0, exhausted = 0 } = counts.get(number) ?? {};
      const { waiting: count, isAtLeast, oldest = '' } = waiting(number);
      const lane: LaneMemory = lanes.get(number)?.lane ?? closedLane;
      return [
        number,
        {
          attempts,
          delivered,
          exhausted,
          successRate: attempts === 0 ? null : delivered / attempts,
          waiting: count,
          waitingIsAtLeast: isAtLeast,
          oldestWaiting: oldest,
          lane: laneState({ ...lane, undecided: lanes.get(number)?.undecided ?? '' }, now),
        },
      ];
    }),
  );
}
