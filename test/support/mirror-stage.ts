import { eventually } from './eventually.ts';
import type { Receiver, ReceivedRequest } from './receiver.ts';
import { type Json, listOf, type WebhookService } from './webhook-service.ts';

/** One webhook as a receiver sees it. */
export interface Told {
  readonly kind: string;
  readonly transition: string | undefined;
  readonly revision: number;
  readonly timestamp: string;
  readonly collection: string;
  readonly data: Json;
}

export function toTold({ headers, body }: ReceivedRequest): Told {
  const { event, timestamp, collection, data } = JSON.parse(body.toString('utf8'));
  return {
    kind: event,
    // A header that came once.
    transition: headers['x-service-transition'] as string | undefined,
    revision: Number(headers['x-service-sequence']),
    timestamp,
    collection,
    data,
  };
}

/** `create`, `update`, `delete`, `enter` or `leave`, and the title of the record. */
export function lineOf({ kind, transition, data }: Told): string {
  return `${transition ?? kind.slice('record.'.length)} ${data.title ?? data.id}`;
}

/** Returns what the receiver has got once there are so many, in the order of revisions. */
export async function toldAll(receiver: Receiver, count: number): Promise<readonly Told[]> {
  return eventually(`${count} webhooks`, () => {
    const all = receiver.requests.map(toTold);
    return all.length >= count ? all : undefined;
  });
}

/** The records of a receiver that applies the latest of each record. */
export function copyOf(requests: readonly ReceivedRequest[]): ReadonlyMap<string, Json> {
  const latest = new Map<string, Told>();
  for (const told of requests.map(toTold)) {
    const key = `${told.collection}/${told.data.id}`;
    const before = latest.get(key);
    const isOlder =
      before !== undefined &&
      (before.revision > told.revision ||
        (before.revision === told.revision && before.timestamp > told.timestamp));
    if (!isOlder) latest.set(key, told);
  }
  const existing = [...latest].filter(([, { kind }]) => kind !== 'record.delete');
  return new Map(existing.map(([key, { data }]) => [key, data]));
}

/** The titles of a copy, in their order. */
export function titlesOf(copy: ReadonlyMap<string, Json>): string {
  return [...copy.values()]
    .map(({ title }) => String(title))
    .toSorted()
    .join(' ');
}

/** Resolves when the copy of the receiver has these titles, and nothing waits. */
export async function copied(service: WebhookService, titles: string): Promise<void> {
  await eventually(`the copy has "${titles}"`, async () => {
    service.look();
    if (titlesOf(copyOf(service.receiver.requests)) !== titles) return undefined;
    return (await service.deliveries("status = 'pending'")).length === 0 ? true : undefined;
  });
}

/** Resolves when no endpoint is reconciling and no delivery is pending. */
export async function reconciled(service: WebhookService): Promise<void> {
  await eventually('everything is reconciled', async () => {
    service.look();
    const { items } = await service.call('GET', '/api/webhooks/endpoints');
    if (listOf(items).some(({ reconciling }) => reconciling)) return undefined;
    return (await service.deliveries("status = 'pending'")).length === 0 ? true : undefined;
  });
}
