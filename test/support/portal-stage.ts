import type { TestContext } from 'node:test';
import { eventually } from './eventually.ts';
import { makeKey } from './make-key.ts';
import { Receiver } from './receiver.ts';
import type { TestAnswer } from './service.ts';
import { type Json, startWebhookService, type WebhookService } from './webhook-service.ts';

/** A service with two endpoints for posts, and a key that is bound to the first. */
export interface PortalStage extends WebhookService {
  /** Ids of the endpoints. */
  readonly own: string;
  readonly foreign: string;
  readonly key: string;
  readonly keyId: string;
  readonly ask: (method: string, path: string, body?: object) => Promise<TestAnswer>;
  // As properties, so that they may be taken out of it.
  readonly call: WebhookService['call'];
  readonly deliveries: WebhookService['deliveries'];
}

export async function startPortalStage(t: TestContext, settings: object = {}): Promise<PortalStage> {
  const elsewhere = await Receiver.open();
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 500 } });
  t.after(() => elsewhere.close());
  const collections = ['posts'];
  // A single attempt, so that a delivery fails for good at once.
  const own = await service.addEndpoint({ collections, schedule: [], ...settings });
  const foreign = await service.addEndpoint({ collections, url: elsewhere.url });
  const made = await makeKey(service, ['webhooks:read', 'webhooks:write'], { endpoints: [own.id] });
  return {
    ...service,
    own: own.id,
    foreign: foreign.id,
    key: made.key,
    keyId: made.id,
    ask: (method, path, body) => service.request(path, { method, token: made.key, ...(body && { body }) }),
  };
}

/** Waits until each of these endpoints has what became of so many deliveries. */
export async function settled({ deliveries }: PortalStage, count: number): Promise<readonly Json[]> {
  return eventually('all are settled', async () => {
    const over = await deliveries("status != 'pending'");
    return over.length === count ? over : undefined;
  });
}
