import type { TestContext } from 'node:test';
import { eventually } from './eventually.ts';
import { answers, HeldSender, type SenderPort } from './held-sender.ts';
import { MovableClock } from './movable-clock.ts';
import type { ReceivedRequest } from './receiver.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from './webhook-service.ts';

export const posts = '/api/collections/posts/records';

/** Writes records by batches of the API, so that each has its event as any other. */
export async function addPosts(
  service: WebhookService,
  count: number,
  bodyOf: (index: number) => object = (index) => ({ title: `post ${index}`, rank: index % 100 }),
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 50) {
    const requests = Array.from({ length: Math.min(50, count - at) }, (_, index) => ({
      method: 'POST',
      url: posts,
      body: bodyOf(at + index),
    }));
    const made = listOf(await service.call('POST', '/api/batch', { body: { requests } }));
    ids.push(...made.map(({ body }) => String(body.id)));
  }
  return ids;
}

interface Backfill {
  readonly service: WebhookService;
  readonly endpoint: string;
  readonly status?: number;
}

export function backfill({ service, endpoint, status = 200 }: Backfill, body: object): Promise<Json> {
  return service.call('POST', `/api/webhooks/endpoints/${endpoint}/backfill`, { body, status });
}

/** Resolves when a backfill is over and nothing of it waits. */
export function backfilled(service: WebhookService, id: string): Promise<Json> {
  return eventually('the backfill is over', async () => {
    service.look();
    const replay = await service.call('GET', `/api/webhooks/replays/${id}`);
    return replay.state !== 'running' && replay.pending === 0 ? replay : undefined;
  });
}

export async function allSettled(service: WebhookService): Promise<void> {
  await eventually('nothing waits', async () => {
    service.look();
    return (await service.deliveries("status = 'pending'")).length === 0;
  });
}

export interface Telling {
  readonly id: string;
  readonly kind: string;
  readonly sequence: number;
  readonly backfill: string | undefined;
  readonly record: string;
  readonly data: Json;
}

export function toTelling({ headers, body }: ReceivedRequest): Telling {
  const { data } = JSON.parse(body.toString('utf8'));
  return {
    id: String(headers['webhook-id']),
    kind: String(headers['x-service-event']),
    sequence: Number(headers['x-service-sequence']),
    // A header that came once.
    backfill: headers['x-service-backfill'] as string | undefined,
    record: String(data.id),
    data,
  };
}

/** What a receiver has that writes each record by its id, unless it knows of a later state. */
export function stateOf(tellings: readonly Telling[]): ReadonlyMap<string, Json> {
  const latest = new Map<string, Telling>();
  for (const telling of tellings) {
    const known = latest.get(telling.record);
    if (known === undefined || known.sequence < telling.sequence) latest.set(telling.record, telling);
  }
  const existing = [...latest].filter(([, { kind }]) => kind !== 'record.delete');
  return new Map(existing.map(([id, { data }]) => [id, data]));
}

/** The collection as superusers list it, without what only a list has. */
export async function collectionState(service: WebhookService): Promise<ReadonlyMap<string, Json>> {
  const state = new Map<string, Json>();
  for (let page = 1; ; page += 1) {
    const { items, totalPages } = await service.call('GET', `${posts}?perPage=500&page=${page}`);
    for (const { collectionId: _, collectionName: __, note: ___, ...data } of items) state.set(data.id, data);
    if (page >= totalPages) return state;
  }
}

interface Held {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  readonly sender: () => HeldSender;
}

/** A service on a clock of its own, whose webhooks arrive at once and nowhere. */
export async function held(t: TestContext, clock = new MovableClock()): Promise<Held> {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  sender.answer = answers.ok;
  return { service, clock, sender: () => sender };
}
