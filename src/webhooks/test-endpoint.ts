import { AppError } from '../base/errors.ts';
import { fromTimestamp, toTimestamp } from '../base/timestamp.ts';
import type { Loan } from '../instances/open-instances.ts';
import { getEndpoint } from './change-endpoint.ts';
import { deliveryId, insertDelivery, readPending } from './deliveries.ts';
import { readDelivery, type DeliveryView } from './delivery-log.ts';
import type { Dispatcher } from './dispatcher.ts';
import { endpointStoreOf } from './endpoint-store.ts';

/** Until then the test is ours alone; should this process die, the dispatcher finds it due and ends it. */
const handoverMs = 120_000;

/**
 * Sends the test event `ping` to one endpoint, paused or not, and answers with the delivery and its attempt. It is written
 * to the log like every event and is never tried twice. Takes the loan over.
 */
export async function testEndpoint(
  loan: Loan,
  endpointId: string,
  dispatcher: Dispatcher,
): Promise<DeliveryView> {
  const { instance } = loan;
  const { database, clock } = instance;
  const endpoint = await getEndpoint(database, endpointStoreOf(instance), endpointId);
  const id = await database.write(async (tx) => {
    const created = toTimestamp(clock.now());
    const event = await instance.events.append(tx, {
      kind: 'ping',
      collection: '',
      collectionName: '',
      record: '',
      revision: 0,
      created,
      dataJson: '{}',
    });
    const identity = {
      id: deliveryId(event.id, endpoint.id),
      event: event.position,
      endpoint: endpoint.id,
      created,
    };
    const due = fromTimestamp(created) + handoverMs;
    await insertDelivery(tx, identity, { status: 'pending', attempts: 0, due, cause: '' });
    return identity.id;
  });
  const pending = await readPending(database, id);
  if (pending === undefined) throw new AppError('conflict', 'The request conflicts with another change.');
  await dispatcher.sendNow(loan, endpoint, pending);
  return readDelivery(instance, id);
}
