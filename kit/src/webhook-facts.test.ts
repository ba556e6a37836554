import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sign } from './sign.ts';
import { hopsHeaders, verify, type Webhook } from './verify.ts';

const secret = 'correct horse battery staple';

interface Records {
  posts: { title: string; rank: number };
}

describe('the headers about a change', () => {
  test('say who has made it, what it has changed, and after how many webhooks', async () => {
    const webhook = await received(update, {
      'X-Service-Actor': 'users/r4nd0m1d0000001',
      'X-Service-Changed': 'title,rank',
      'X-Service-Hops': '2',
    });
    assert.equal(webhook.actor, 'users/r4nd0m1d0000001');
    assert.deepEqual([webhook.changed, webhook.isChangedCut], [['title', 'rank'], false]);
    assert.equal(webhook.hops, 2);
  });

  test('a list of changed fields that was cut says so, and has no field by the name of the sign', async () => {
    const { changed, isChangedCut } = await received(update, { 'X-Service-Changed': 'title,rank,*' });
    assert.deepEqual([changed, isChangedCut], [['title', 'rank'], true]);
  });

  test('a backfill is named by its job, a transition by its kind, and a test is no change', async () => {
    const told = await received(update, { 'X-Service-Backfill': 'job1' });
    assert.deepEqual([told.backfill, told.isTest], ['job1', false]);
    for (const transition of ['enter', 'leave'])
      assert.equal((await received(update, { 'X-Service-Transition': transition })).transition, transition);
    assert.equal((await received(update, { 'X-Service-Transition': 'other' })).transition, undefined);
    const tried = await received(update, { 'X-Service-Test': 'true' });
    assert.deepEqual([tried.backfill, tried.isTest], [undefined, true]);
    assert.equal((await received(update, { 'X-Service-Test': 'false' })).isTest, false);
  });
});

describe('the headers of a request that a webhook causes', () => {
  test('have the hops of the webhook, under the name that Chancery reads', async () => {
    const webhook = await received(update, { 'X-Service-Hops': '3' });
    assert.deepEqual(hopsHeaders(webhook), { 'X-Service-Hops': '3' });
    assert.equal(new Headers({ ...hopsHeaders(webhook) }).get('x-service-hops'), '3');
  });

  test('are none for a webhook that nobody has caused', async () => {
    assert.deepEqual(hopsHeaders(await received(ping)), {});
  });
});

describe('the values before a change', () => {
  test('are those of the fields that it has changed, and are typed as the record is', async () => {
    const { event, isTruncated } = await received({ ...update, previous: { title: 'before' } });
    assert.ok(!isTruncated && event.collection === 'posts' && event.event === 'record.update');
    const before: Partial<Records['posts']> | undefined = event.previous;
    assert.deepEqual(before, { title: 'before' });
    assert.ok(!('previous' in (await received(update)).event));
  });

  test('that are no object make the body one which Chancery does not send', async () => {
    for (const previous of ['before', null, 7])
      await assert.rejects(received({ ...update, previous }), /has no previous as events of Chancery have/);
  });
});

describe('events about endpoints', () => {
  test('are told apart by their name, which says what their data has', async () => {
    const endpoint = {
      id: 'e1',
      url: 'https://example.com/hook',
      reason: 'Nothing was taken for 5 days.',
    };
    assert.equal(subjectOf((await received(operational('endpoint.disabled', endpoint))).event), endpoint.url);
    assert.equal(
      subjectOf((await received(operational('endpoint.recovered', endpoint))).event),
      endpoint.url,
    );
    const delivery = { delivery: 'd1', event: 'evt1', endpoint: 'e1', cause: 'The connection was refused.' };
    assert.equal(
      subjectOf((await received(operational('delivery.exhausted', delivery))).event),
      delivery.cause,
    );
    assert.equal(subjectOf((await received(update)).event), 'after');
    assert.equal(subjectOf((await received(ping)).event), 'ping');
  });

  test('need no id, as those about records do', async () => {
    await received(operational('endpoint.disabled', {}));
    await assert.rejects(received({ ...update, data: {} }), /no data\.id/);
  });
});

const update = {
  event: 'record.update',
  timestamp: '2026-11-20T09:35:20.114Z',
  instance_id: 'k2m9x4q7w1z8b5n',
  collection: 'posts',
  data: { id: 'r1', title: 'after', rank: 1 },
};
const ping = operational('ping', {});

function operational(event: string, data: object): object {
  const { timestamp, instance_id } = update;
  return { event, timestamp, instance_id, collection: '', data };
}

/** The compiler accepts each line only because of the condition before it. */
function subjectOf(event: Webhook<Records>['event']): string | undefined {
  switch (event.event) {
    case 'endpoint.failing':
    case 'endpoint.disabled':
    case 'endpoint.recovered':
    case 'endpoint.certificate_expiring':
      return event.data.url;
    case 'delivery.exhausted':
    case 'attempt.failed':
      return event.data.cause;
    case 'endpoint.verify':
      return event.data.challenge;
    case 'ping':
      return event.event;
    default:
      return event.data.title;
  }
}

async function received(
  event: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Webhook<Records>> {
  const body = JSON.stringify(event);
  return verify<Records>(secret, { ...(await sign({ secret, id: 'evt1', body })), ...headers }, body);
}
