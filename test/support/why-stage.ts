import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { stopEndpoint } from '../../src/deliveries/endpoints/change-endpoint.ts';
import {
  type Json,
  listOf,
  startWebhookService,
  type WebhookService,
  type WebhookServiceOptions,
} from './webhook-service.ts';

/** A service with webhooks, and what it says of why endpoints were sent an event or were not. */
export interface WhyStage extends WebhookService {
  /** Returns the id of the event that was appended last. */
  lastEvent(): Promise<string>;
  /** Returns the lines about an event, by default the last one; with a query, such as `?endpoint=…`. */
  why(asked?: { readonly event?: string; readonly query?: string }): Promise<readonly Json[]>;
  /** Returns the line of one endpoint about the last event. */
  whyOf(endpoint: string): Promise<Json>;
}

export async function startWhyStage(t: TestContext, options: WebhookServiceOptions = {}): Promise<WhyStage> {
  const service = await startWebhookService(t, options);
  const lastEvent = async (): Promise<string> =>
    (await service.call('GET', '/api/webhooks/events?sort=-created&perPage=1')).items[0].id;
  const why: WhyStage['why'] = async ({ event, query = '?perPage=500' } = {}) =>
    (await service.call('GET', `/api/webhooks/events/${event ?? (await lastEvent())}/why${query}`)).items;
  const whyOf: WhyStage['whyOf'] = async (endpoint) => {
    const lines = await why({ query: `?endpoint=${endpoint}` });
    assert.equal(lines.length, 1);
    return lines[0];
  };
  return { ...service, lastEvent, why, whyOf };
}

/** Returns what a line says was false, as text with the values of each side; `?` for what is hidden. */
export function falseIn({ comparisons }: Json): readonly (readonly unknown[])[] {
  return listOf(comparisons).map(({ text, isHidden, sides }: Json) =>
    isHidden === true ? ['?'] : [text, ...listOf(sides).map(({ values }) => values)],
  );
}

/** Disables an endpoint as the service does. */
export async function disable(stage: WhyStage, id: string): Promise<void> {
  await stage.withInstance('default', async (instance) => {
    const endpoint = await instance.endpoints.find(instance.database, id);
    assert.ok(endpoint !== undefined);
    const stop = { status: 'disabled', event: '', reason: 'It took nothing.', mails: undefined } as const;
    assert.ok(await stopEndpoint(instance, endpoint, stop));
  });
}
