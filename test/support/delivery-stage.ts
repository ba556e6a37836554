import type { TestContext } from 'node:test';
import { type BrowserStage, startSignedInStage } from './browser-stage.ts';
import { eventually } from './eventually.ts';
import { Receiver, type ReceiverMode } from './receiver.ts';

/** A stage with a collection `orders`, and an endpoint that leads to a receiver. */
export interface DeliveryStage extends BrowserStage {
  readonly receiver: Receiver;
  readonly endpoint: { readonly id: string; readonly secret: string };
  addOrder(values?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Waits until the only delivery of a record is as wanted, and returns its id. */
  delivery(record: string, wanted: (delivery: DeliveryRow) => boolean): Promise<DeliveryRow>;
}

export interface DeliveryRow {
  readonly id: string;
  readonly event: string;
  readonly status: string;
  readonly attempts: readonly { readonly status: number | null }[];
}

export interface DeliveryStageOptions {
  /** What the receiver answers to each request, in turn; the last one to all that follow. */
  readonly modes: readonly [ReceiverMode, ...ReceiverMode[]];
  /** Of the endpoint: seconds between attempts. */
  readonly schedule: readonly number[];
  readonly headers?: Readonly<Record<string, string>>;
}

export async function startDeliveryStage(
  t: TestContext,
  { modes, schedule, headers = {} }: DeliveryStageOptions,
): Promise<DeliveryStage> {
  const stage = await startSignedInStage(t);
  const receiver: Receiver = await Receiver.open({
    mode: modes[0],
    onRequest: () => (receiver.mode = modes[receiver.requests.length - 1] ?? modes.at(-1) ?? modes[0]),
  });
  t.after(() => receiver.close());
  const { pb } = stage;
  await pb.collections.create({
    name: 'orders',
    type: 'base',
    fields: [
      { name: 'number', type: 'text', presentable: true },
      { name: 'state', type: 'text' },
      { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
    ],
  });
  const body = { url: receiver.url, schedule, headers, collections: ['orders'] };
  const endpoint = await pb.send<DeliveryStage['endpoint']>('/api/webhooks/endpoints', {
    method: 'POST',
    body,
  });
  return {
    ...stage,
    receiver,
    endpoint,
    addOrder: async (values = { number: '1001', state: 'open' }) =>
      (await pb.collection('orders').create(values)).id,
    delivery: async (record, wanted) =>
      eventually('the delivery is as wanted', async () => {
        const query = { filter: pb.filter('record = {:record}', { record }) };
        const { items } = await pb.send<{ items: readonly DeliveryRow[] }>('/api/webhooks/deliveries', {
          query,
        });
        return items.find(wanted);
      }),
  };
}
