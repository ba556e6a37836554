import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { eventually } from './eventually.ts';
import { Receiver, type ReceiverMode } from './receiver.ts';
import { startService, type TestAnswer, type TestService, type TestServiceOptions } from './service.ts';

/** Answers of the API. Typed loosely: tests look into them. */
export type Json = any; // oxlint-disable-line typescript/no-explicit-any

// oxlint-disable-line typescript/no-explicit-any

export interface WebhookServiceOptions extends TestServiceOptions {
  readonly mode?: ReceiverMode;
}

/** A service with a collection `posts`, a receiver, and the calls that a superuser makes about webhooks. */
export interface WebhookService extends TestService {
  readonly receiver: Receiver;
  /** Makes a request as the superuser; fails unless it is answered with `status`. */
  call(
    method: string,
    path: string,
    expected?: { readonly body?: unknown; readonly status?: number },
  ): Promise<Json>;
  /** Creates an endpoint for the receiver, unless `settings` say otherwise. */
  addEndpoint(settings?: Readonly<Record<string, unknown>>): Promise<Json>;
  addPost(title?: string): Promise<Json>;
  /** Returns deliveries in the order of their events. */
  deliveries(filter?: string): Promise<readonly Json[]>;
  /** Waits until the only delivery there is satisfies `check`, and returns it. */
  delivery(what: string, check: (delivery: Json) => boolean): Promise<Json>;
  /** Signs in again for `call`, when moving the clock has ended the old token. */
  signIn(): Promise<void>;
  /** Does what the dispatcher's own timer does: looks for deliveries that are due by now. */
  look(): void;
}

const posts = {
  name: 'posts',
  type: 'base',
  fields: [
    { type: 'text', name: 'title' },
    { type: 'number', name: 'rank', min: -1_000, max: 1_000 },
    { type: 'text', name: 'note', hidden: true },
    { type: 'bool', name: 'isPublic' },
    { type: 'json', name: 'extra', maxSize: 2_000_000 },
  ],
};

export async function startWebhookService(
  t: TestContext,
  options: WebhookServiceOptions = {},
): Promise<WebhookService> {
  const receiver = await Receiver.open(options.mode === undefined ? {} : { mode: options.mode });
  // Before the service is started, so that it is closed after the service has stopped.
  const service = await startService(t, options);
  t.after(() => receiver.close());
  const webhooks = { ...service, ...callsOf(service, receiver), receiver };
  if (options.data === undefined) await webhooks.call('POST', '/api/collections', { body: posts });
  return webhooks;
}

/** Returns an array of an answer; fails if it is none. */
export function listOf(value: unknown): readonly Json[] {
  assert.ok(Array.isArray(value));
  return value;
}

function callsOf(
  service: TestService,
  receiver: Receiver,
): Omit<WebhookService, keyof TestService | 'receiver'> {
  const call: WebhookService['call'] = async (method, path, { body, status } = {}) => {
    const asked = { method, token: true, ...(body === undefined ? {} : { body }) } as const;
    const answer = await service.request(path, asked);
    assert.ok(isAsExpected(answer, status), `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
  const deliveries: WebhookService['deliveries'] = async (filter = '') => {
    const page = await call(
      'GET',
      `/api/webhooks/deliveries?perPage=500&filter=${encodeURIComponent(filter)}`,
    );
    return page.items;
  };
  return {
    call,
    deliveries,
    addEndpoint: (settings = {}) =>
      call('POST', '/api/webhooks/endpoints', { body: { url: receiver.url, ...settings }, status: 201 }),
    addPost: (title = 'Hello') =>
      call('POST', '/api/collections/posts/records', { body: { title }, status: 201 }),
    delivery: (what, check) =>
      eventually(what, async () => {
        const [only, ...others] = await deliveries();
        assert.equal(others.length, 0);
        return only !== undefined && check(only) ? only : undefined;
      }),
    signIn: async () => {
      const { email: identity, password } = service.superuser;
      const path = '/api/collections/_superusers/auth-with-password';
      const { token } = (await service.request(path, { method: 'POST', body: { identity, password } })).json;
      Object.assign(service.superuser, { token });
    },
    look: () => {
      for (const { id } of service.app.data.directory.all()) service.app.data.wakeUp.notify(id);
    },
  };
}

function isAsExpected(answer: TestAnswer, status: number | undefined): boolean {
  return status === undefined ? answer.status < 300 : answer.status === status;
}
