import type { TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { makeOperatorKey, operatorCaller } from './operator-stage.ts';
import { type ReceivedRequest, Receiver, type ReceiverOptions } from './receiver.ts';
import { startService, type TestAnswer, type TestService, type TestServiceOptions } from './service.ts';

/** A service with an operator key and a receiver. */
export interface OperatorWebhookStage {
  readonly service: TestService;
  readonly receiver: Receiver;
  readonly call: ReturnType<typeof operatorCaller>;
  /** Makes an endpoint at the receiver. */
  readonly add: (body?: object) => Promise<TestAnswer['json']>;
  /** Changes an instance, which is an event whose labels have this text. */
  readonly happen: (text: string) => Promise<void>;
  readonly shown: (id: string) => Promise<TestAnswer['json']>;
}

export async function startOperatorWebhooks(
  t: TestContext,
  {
    receiver: receiverOptions,
    ...options
  }: TestServiceOptions & { readonly receiver?: ReceiverOptions } = {},
): Promise<OperatorWebhookStage> {
  const receiver = await Receiver.open(receiverOptions);
  t.after(() => receiver.close());
  const service = await startService(t, options);
  const { key } = await makeOperatorKey(service);
  const call = operatorCaller(service, key);
  return {
    service,
    receiver,
    call,
    add: async (body = {}) =>
      (await call(201, 'POST /endpoints', { body: { url: receiver.url, ...body } })).json,
    happen: async (text) => {
      await call(200, 'PATCH /instances/default', { body: { labels: { text } } });
    },
    shown: async (id) => (await call(200, `GET /endpoints/${id}`)).json,
  };
}

export function textsOf(requests: readonly ReceivedRequest[]): readonly string[] {
  return requests.map(({ body }) => {
    // `happen` has made the event.
    const { data } = JSON.parse(body.toString()) as {
      readonly data: { readonly labels: { readonly text: string } };
    };
    return data.labels.text;
  });
}

export function idsOf(requests: readonly ReceivedRequest[]): readonly string[] {
  return requests.map(({ headers }) => String(headers['webhook-id']));
}

/** Returns whether each secret alone verifies a request, by the stock library. */
export function verifies({ body, headers }: ReceivedRequest, secrets: readonly string[]): readonly boolean[] {
  const signed = {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  };
  return secrets.map((secret) => {
    try {
      new Webhook(secret).verify(body, signed);
      return true;
    } catch {
      return false;
    }
  });
}

export const failing = { kind: 'status', status: 500 } as const;
export const ok = { kind: 'ok' } as const;
