import { AppError, conflicting } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Trace } from '../base/trace-context.ts';
import type { NewEvent } from '../events/event.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { type DeliveryKey, readPendings, sendAnyway } from '../deliveries/deliveries.ts';
import { type DeliveryView, readDelivery } from '../deliveries/log/delivery-log.ts';
import type { Dispatcher } from './dispatcher.ts';
import { isUnverified } from '../endpoints/must-verify.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { closeBreaker } from '../deliveries/endpoints/try-endpoint.ts';
import { insertDeliveryOfLastEvent } from '../deliveries/fan-out.ts';
import { insertPending } from '../deliveries/delivery-outcomes.ts';
import type { WebhookInstance, WebhookInstanceLoan } from '../endpoints/webhook-instance.ts';

/** For this time only its sender may send a test. If that process dies, the dispatcher then finds the delivery due and ends it. */
const handoverMs = 120_000;

/** Open tests of one instance. They bypass the lanes, so nothing else limits how many a receiver gets. */
const testsMax = 8;
const testsUnderWay = new WeakMap<Database, number>();

export interface TestParts {
  readonly dispatcher: Dispatcher;
  readonly borrow: (instanceId: string) => Promise<WebhookInstanceLoan>;
  /** That of the request for the test. */
  readonly trace?: Trace;
  /** Sent in place of `ping`. */
  readonly record?: RecordTest | undefined;
}

/** A record as it is now, sent to an endpoint as if it had changed. */
export type RecordTest = Required<Pick<NewEvent, 'bodyKind' | 'context'>> &
  Pick<NewEvent, 'collectionName' | 'record' | 'revision' | 'dataJson'>;

/**
 * Sends the test event `ping`, or a record, to one endpoint, paused or not, and returns the delivery with its attempt. The event is logged like
 * any other, and the request is never repeated. Throws not_found, and too_many_requests while `testsMax` others are open.
 */
export async function testEndpoint(
  instance: WebhookInstance,
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

async function sendTest(
  instance: WebhookInstance,
  endpointId: string,
  parts: TestParts,
): Promise<DeliveryView> {
  const { database, id: instanceId } = instance;
  const { endpoint, key } = await insertTest(instance, endpointId, parts);
  const [pending] = await readPendings(database, {
    keys: [key],
    policyOf: () => sendAnyway,
    instance,
    now: instance.dueClock.now(),
  });
  if (pending === undefined) throw conflicting();
  const { isSuccess } = await parts.dispatcher.sendNow(await parts.borrow(instanceId), endpoint, pending);
  if (isSuccess) {
    await closeBreaker(instance, endpointId);
    parts.dispatcher.wake(instanceId);
  }
  return readDelivery(database, key);
}

function insertTest(
  instance: WebhookInstance,
  endpointId: string,
  { trace, record }: Pick<TestParts, 'trace' | 'record'>,
): Promise<{ readonly endpoint: Endpoint; readonly key: DeliveryKey }> {
  return instance.database.write(async (tx) => {
    const endpoint = await instance.endpoints.get(tx, endpointId);
    if (isUnverified(instance, endpoint))
      throw new AppError(
        'conflict',
        'Its receiver must be verified first: it is sent nothing but a challenge.',
      );
    const { clock, dueClock, events } = instance;
    const parts = { clock, dueClock, events, ...(trace && { trace }), record };
    return { endpoint, key: await writeTest(tx, parts, endpoint.number) };
  });
}

/** Writes the test event and its one delivery, which the lanes skip as it is due later. */
export async function writeTest(
  tx: Transaction,
  parts: Pick<WebhookInstance, 'clock' | 'dueClock' | 'events'> & Pick<TestParts, 'trace' | 'record'>,
  endpoint: number,
): Promise<DeliveryKey> {
  const { clock, dueClock, events, trace, record } = parts;
  const created = toTimestamp(clock.now());
  const ping = { collectionName: '', record: '', revision: 0, dataJson: '{}' };
  const kind = record === undefined ? 'ping' : 'test';
  await events.append(tx, { kind, collection: '', created, ...(record ?? ping) }, trace);
  const key = { event: await insertDeliveryOfLastEvent(tx, endpoint), endpoint };
  const now = dueClock.now();
  await insertPending(tx, key, { due: now + handoverMs, now });
  return key;
}
