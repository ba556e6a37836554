import type { PendingDelivery } from './deliveries.ts';
import type { InstanceLanes } from './instance-lanes.ts';

/** A delivery whose turn it is; only its id was read so far. */
export interface Taken {
  readonly lanes: InstanceLanes;
  readonly endpointId: string;
  readonly id: string;
}

/** Instances read in parallel where the database is a round trip away; requests share the same connections. */
const instancesTogetherMax = 16;

/** Returns the rows of a whole turn by id, read with one statement per instance. An instance whose read fails is left out. */
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
