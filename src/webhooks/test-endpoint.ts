import { AppError, conflicting } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Instance } from '../instances/instance.ts';
import type { Loan } from '../instances/open-instances.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { getEndpoint } from './endpoints/change-endpoint.ts';
import { deliveryId, insertDelivery, readPending } from './deliveries.ts';
import { readDelivery, type DeliveryView } from './delivery-log.ts';
import type { Dispatcher } from './dispatcher.ts';
import { endpointStoreOf } from './endpoints/endpoint-store.ts';
import type { Endpoint } from './endpoints/endpoint.ts';

/** For this long a test is its sender's alone. If that process dies, the dispatcher then finds the delivery due and ends it. */
const handoverMs = 120_000;

/** Tests of one instance under way at once. They bypass the lanes, so nothing else limits how many a receiver gets. */
const testsMax = 8;
const testsUnderWay = new WeakMap<Database, number>();

export interface TestParts {
  readonly dispatcher: Dispatcher;
  readonly borrow: (instance: Instance) => Promise<Loan>;
}

/**
 * Sends the test event `ping` to one endpoint, paused or not, and returns the delivery with its attempt. The event is logged like
 * any other, and the request is never repeated. Throws not_found, and too_many_requests while `testsMax` others are under way.
 */
export async function testEndpoint(
  instance: Instance,
  endpointId: string,
  parts: TestParts,
): Promise<DeliveryView> {
  const { database } = instance;
  const underWay = testsUnderWay.get(database) ?? 0;
  if (underWay >= testsMax) {
    const message = `At most ${testsMax} tests of endpoints can be under way.`;
    throw new AppError('too_many_requests', message, { retryAfter: 1 });
  }
  testsUnderWay.set(database, underWay + 1);
  try {
    return await sendTest(instance, endpointId, parts);
  } finally {
    testsUnderWay.set(database, (testsUnderWay.get(database) ?? 1) - 1);
  }
}

async function sendTest(instance: Instance, endpointId: string, parts: TestParts): Promise<DeliveryView> {
  const { endpoint, id } = await insertTest(instance, endpointId);
  const pending = await readPending(instance.database, id);
  if (pending === undefined) throw conflicting();
  await parts.dispatcher.sendNow(await parts.borrow(instance), endpoint, pending);
  return readDelivery(instance.database, id);
}

function insertTest(
  instance: Instance,
  endpointId: string,
): Promise<{ readonly endpoint: Endpoint; readonly id: string }> {
  return instance.database.write(async (tx) => {
    const endpoint = await getEndpoint(tx, endpointStoreOf(instance), endpointId);
    return { endpoint, id: await writeTest(tx, instance, endpoint.id) };
  });
}

/** Writes the test event and its one delivery, and returns the id of that delivery. */
export async function writeTest(
  tx: Transaction,
  { clock, dueClock, events }: Pick<Instance, 'clock' | 'dueClock' | 'events'>,
  endpointId: string,
): Promise<string> {
  const created = toTimestamp(clock.now());
  const event = await events.append(tx, {
    kind: 'ping',
    collection: '',
    collectionName: '',
    record: '',
    revision: 0,
    created,
    dataJson: '{}',
  });
  const due = dueClock.now() + handoverMs;
  const state = { status: 'pending', attempts: 0, due, cause: '' } as const;
  await tx.run(insertDelivery(tx.names, event, { endpoint: endpointId, state }));
  return deliveryId(event.id, endpointId);
}
