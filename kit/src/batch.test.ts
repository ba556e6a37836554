import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyBatch } from './batch.ts';
import { fetchHandler } from './fetch.ts';
import { MemorySeen } from './seen.ts';
import { sign } from './sign.ts';
import { BodyError, MissingHeaderError, SignatureError } from './verify.ts';

const secret = 'whsec_bm90IGEgc2VjcmV0LCBidXQgbG9uZyBlbm91Z2g=';

function eventOf(id: string): object {
  return {
    event: 'record.update',
    timestamp: '2026-11-20T09:35:20.114Z',
    instance_id: 'instance',
    collection: 'posts',
    data: { id },
  };
}

interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

async function batchOf(content: unknown, facts: Readonly<Record<string, string>> = {}): Promise<Signed> {
  const body = JSON.stringify(content);
  return { headers: { ...(await sign({ secret, body, id: 'batch' })), ...facts }, body };
}

const facts = {
  'x-service-batch': '2',
  'x-service-events': 'one,two',
  'x-service-sequence': '3,7',
  'x-service-transition': ',leave',
  'x-service-truncated': 'data,',
  'x-service-hops': '2',
};

test('the events of a batch are returned in order, each with its own id and place', async () => {
  const { headers, body } = await batchOf([eventOf('a'), eventOf('b')], facts);
  const webhooks = await verifyBatch(secret, headers, body);
  assert.deepEqual(
    webhooks.map(({ id, sequence, transition, isTruncated, hops, event }) => [
      id,
      sequence,
      transition,
      isTruncated,
      hops,
      event.data['id'],
    ]),
    [
      ['one', 3, undefined, true, 2, 'a'],
      ['two', 7, 'leave', false, 2, 'b'],
    ],
  );
});

test('a request with one event is a batch of one, and CloudEvents have their ids in the body', async () => {
  const single = await batchOf(eventOf('a'), { 'x-service-sequence': '4' });
  const [only] = await verifyBatch(secret, single.headers, single.body);
  assert.deepEqual([only?.id, only?.sequence], ['batch', 4]);
  const items = ['a', 'b'].map((id) => ({ specversion: '1.0', id: `event-${id}`, data: eventOf(id) }));
  const cloud = await batchOf(items, facts);
  const webhooks = await verifyBatch(secret, cloud.headers, cloud.body);
  assert.deepEqual(
    webhooks.map(({ id, event }) => [id, event.data['id']]),
    [
      ['event-a', 'a'],
      ['event-b', 'b'],
    ],
  );
});

test('a batch that was changed, or whose ids are missing or too few, is refused', async () => {
  const { headers, body } = await batchOf([eventOf('a'), eventOf('b')], facts);
  await assert.rejects(verifyBatch(secret, headers, body.replace('"a"', '"c"')), SignatureError);
  const few = { ...headers, 'x-service-events': 'one' };
  await assert.rejects(verifyBatch(secret, few, body), BodyError);
  const none = await batchOf([eventOf('a')]);
  await assert.rejects(verifyBatch(secret, none.headers, none.body), MissingHeaderError);
  const wrong = await batchOf([eventOf('a'), {}], facts);
  await assert.rejects(verifyBatch(secret, wrong.headers, wrong.body), BodyError);
});

test('a handler handles each event of a batch once, also when the batch comes again after a failure', async () => {
  const handled: string[] = [];
  let isFailing = true;
  const receive = fetchHandler({
    secret,
    seen: new MemorySeen(),
    onWebhook: ({ id }) => {
      if (id === 'two' && isFailing) throw new Error('The store is away.');
      handled.push(id);
    },
  });
  const { headers, body } = await batchOf([eventOf('a'), eventOf('b')], facts);
  const post = (): Promise<Response> =>
    receive(new Request('https://receiver.example/hook', { method: 'POST', headers, body }));
  await assert.rejects(post());
  isFailing = false;
  assert.equal((await post()).status, 200);
  assert.deepEqual(handled, ['one', 'two']);
});
