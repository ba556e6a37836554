import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Clock } from '../../src/base/clock.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { startService, type TestAnswer, type TestRequest, type TestService } from './service.ts';

const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };

/** Starts a service with `posts`, which everybody may change, and `locked`, which only superusers may. */
export async function startBatchService(
  t: TestContext,
  { clock, flags }: { readonly clock?: Clock; readonly flags?: Readonly<Record<string, string>> } = {},
): Promise<TestService> {
  const service = await startService(t, { ...(clock && { parts: { clock } }), ...(flags && { flags }) });
  await service.withInstance('default', makeCollections);
  if (clock !== undefined) return service;
  // The most there is: what a batch is refused for is not how busy the machine is.
  const body = { batch: { timeout: 10 } };
  const { status, text } = await service.request('/api/settings', { method: 'PATCH', token: true, body });
  assert.equal(status, 200, text);
  return service;
}

async function makeCollections({ database, collections, clock }: Instance): Promise<void> {
  const fields = [
    { name: 'title', type: 'text', max: 20 },
    { name: 'secret', type: 'text', hidden: true },
  ];
  const change = { database, collections, now: clock.now() };
  await createCollection(change, { name: 'posts', ...open, fields });
  await createCollection(change, { name: 'locked', fields });
}

export function sendBatch(
  service: TestService,
  requests: unknown,
  more: TestRequest = {},
): Promise<TestAnswer> {
  return service.request('/api/batch', { method: 'POST', ...more, body: { requests } });
}

/** The item that failed, and the answer that it would have had alone. */
export interface Failure {
  readonly index: string;
  readonly response: TestAnswer['json'];
}

export function failureOf(answer: TestAnswer): Failure | undefined {
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.json.message, 'Batch transaction failed.');
  const [index] = Object.keys(answer.json.data.requests ?? {});
  if (index === undefined) return undefined;
  const { code, message, response, ...rest } = answer.json.data.requests[index];
  assert.deepEqual([code, message, rest], ['batch_request_failed', 'Batch request failed.', {}]);
  return { index, response };
}

/** Returns the refusal of the only item of a batch. */
export async function refusalOf(
  service: TestService,
  item: unknown,
  more?: TestRequest,
): Promise<Failure['response']> {
  const failure = failureOf(await sendBatch(service, [item], more));
  assert.equal(failure?.index, '0');
  return failure?.response;
}
