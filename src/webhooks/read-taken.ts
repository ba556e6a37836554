import type { PendingDelivery } from './deliveries.ts';
import type { InstanceLanes } from './instance-lanes.ts';

/** A delivery whose turn it is; of its row only the id is known so far. */
export interface Taken {
  readonly lanes: InstanceLanes;
  readonly endpointId: string;
  readonly id: string;
}

/** Instances that are read at the same time, where the database is a round trip away: the connections are also the requests'. */
const instancesTogetherMax = 16;

/** The rows of a whole turn by their ids, with one statement for each instance. What `read` gives undefined for is missing. */
export async function readTaken(
  taken: readonly Taken[],
  orRest: (
    lanes: InstanceLanes,
    read: () => Promise<readonly PendingDelivery[]>,
  ) => Promise<readonly PendingDelivery[] | undefined>,
): Promise<ReadonlyMap<string, PendingDelivery>> {
  const byInstance = [...Map.groupBy(taken, ({ lanes }) => lanes)];
  const found = new Map<string, PendingDelivery>();
  for (let from = 0; from < byInstance.length; from += instancesTogetherMax) {
    const reads = byInstance.slice(from, from + instancesTogetherMax).map(([lanes, own]) => {
      const ids = own.map(({ id }) => id);
      return orRest(lanes, () => lanes.readPendings(ids));
    });
    for (const pendings of await Promise.all(reads))
      for (const pending of pendings ?? []) found.set(pending.id, pending);
  }
  return found;
}
