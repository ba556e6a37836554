// Both engines: an alert is stored under a condition.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { alertContact, startAlertStage } from '../support/alert-stage.ts';
import { eventually } from '../support/eventually.ts';
import { answers } from '../support/held-sender.ts';
import type { LaneTrial } from '../support/lane-trial.ts';
import { type Json, listOf } from '../support/webhook-service.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Returns the events about endpoints, in the order in which they happened. */
async function toldOf({ service }: LaneTrial): Promise<readonly Json[]> {
  const { items } = await service.call('GET', '/api/webhooks/events?perPage=200');
  return listOf(items).filter(({ collection, kind }) => collection === '' && kind !== 'ping');
}

async function kindsOf(trial: LaneTrial): Promise<readonly string[]> {
  return (await toldOf(trial)).map(({ kind }) => String(kind));
}

/** Returns what an endpoint was sent, each event once: one that was on its way at a restart is sent again. */
async function bodiesTo({ sender }: LaneTrial, endpoint: string): Promise<readonly Json[]> {
  const given = sender.given.filter(({ endpointId }) => endpointId === endpoint);
  const bodies = new Map(given.map(({ eventId, body }) => [eventId, Buffer.from(body).toString()]));
  return Promise.resolve([...bodies.values()].map((body) => JSON.parse(body)));
}

/** Puts the failures of the lane so far back, as if they had begun that long before. */
async function backdate({ service, passAround, wake }: LaneTrial, ms: number): Promise<void> {
  await service.withInstance('default', ({ database }) =>
    database.write((tx) =>
      tx.run(
        sql`UPDATE ${tx.names.table('$lane')} SET since = since - CAST(${ms} AS bigint) WHERE ${tx.names.instance.condition} AND since > 0`,
      ),
    ),
  );
  passAround();
  wake();
}

test('who is away for an hour is told once by mail, across starts and owners, and once that it is back', async (t) => {
  const stage = await startAlertStage(t);
  const { service, sender, sink, id, addPosts, idle, restart, passAround, passMs } = stage;
  sender.answer = answers.down;
  await addPosts(6);
  await idle();
  await passMs(50 * minute);
  assert.equal(sink.mails.length, 0);
  await passMs(30 * minute);
  const mail = await sink.mail(0);
  assert.deepEqual(mail.to, [alertContact]);
  assert.equal(mail.parsed.subject, 'Harbour & Co: an endpoint has been failing for an hour');
  assert.match(
    mail.parsed.html ?? '',
    /The endpoint The &lt;shop&gt; at shop\.example\.com has not accepted a webhook/,
  );
  assert.match(mail.parsed.html ?? '', /<p>Status 500\.<\/p>/);
  assert.match(mail.parsed.html ?? '', new RegExp(`"https://harbour\\.example\\.com/_/webhooks/${id}"`));
  assert.doesNotMatch(mail.raw, /hidden/);
  await restart();
  await passMs(hour);
  passAround();
  await passMs(hour);
  sender.answer = answers.ok;
  await passMs(30 * minute);
  await eventually('another mail', () => sink.mails.length >= 2);
  assert.equal((await sink.mail(1)).parsed.subject, 'Harbour & Co: an endpoint recovered');
  await addPosts(5);
  await restart();
  await addPosts(5);
  await idle();
  assert.deepEqual((await kindsOf(stage)).toSorted(), ['endpoint.failing', 'endpoint.recovered']);
  const [failing, told] = await bodiesTo(stage, stage.listener);
  const url = 'https://shop.example.com/hook?key=hidden';
  assert.deepEqual(Object.keys(told), ['event', 'timestamp', 'instance_id', 'collection', 'data']);
  assert.deepEqual([told.event, told.collection, told.data], ['endpoint.recovered', '', { id, url }]);
  assert.deepEqual([failing.event, failing.data], ['endpoint.failing', { id, url, reason: 'Status 500.' }]);
  const shown = await service.call('GET', '/api/webhooks/events?perPage=200');
  assert.equal(listOf(shown.items).find(({ kind }) => kind === 'endpoint.recovered').record, id);
  assert.equal(sink.mails.length, 2);
});

test('whoever asks for failed attempts is told of one of an endpoint in six minutes, across starts, and not of its own', async (t) => {
  const stage = await startAlertStage(t, { events: ['record.create', 'attempt.failed'] });
  const { service, sender, id, listener, addPosts, idle, restart, passMs } = stage;
  sender.answer = answers.down;
  await addPosts(4);
  await idle();
  assert.deepEqual(await kindsOf(stage), []);
  await service.call('PATCH', `/api/webhooks/endpoints/${listener}`, {
    body: { events: ['attempt.failed'] },
  });
  await addPosts(2);
  await idle();
  assert.deepEqual(await kindsOf(stage), ['attempt.failed']);
  const [{ event, collection, data }] = await bodiesTo(stage, listener);
  assert.deepEqual([event, collection, data.endpoint, data.cause], ['attempt.failed', '', id, 'Status 500.']);
  const { items } = await service.call('GET', `/api/webhooks/deliveries?filter=(id='${data.delivery}')`);
  assert.equal(listOf(items)[0].event, data.event);
  const attempts = sender.given.length;
  await restart();
  await passMs(2 * hour);
  const times = (await toldOf(stage))
    .filter(({ kind }) => kind === 'attempt.failed')
    .map(({ created }) => Date.parse(created))
    .toSorted((a, b) => a - b);
  assert.ok(times.length > 2 && times.length < sender.given.length - attempts);
  assert.ok(times.every((time, index) => index === 0 || time - (times[index - 1] ?? 0) >= 6 * minute));
});

test('a failed attempt to tell of a failed attempt is told to nobody', async (t) => {
  const stage = await startAlertStage(t, { events: ['record.create', 'attempt.failed'] });
  const { service, sender, listener, addPosts, idle, passMs } = stage;
  await service.call('PATCH', `/api/webhooks/endpoints/${listener}`, {
    body: { events: ['attempt.failed'] },
  });
  sender.answerOf.set(listener, answers.down);
  await addPosts(1);
  sender.answer = answers.down;
  await addPosts(1);
  await idle();
  await passMs(hour);
  const told = await toldOf(stage);
  const records = told.filter(({ kind }) => kind === 'attempt.failed').map(({ record }) => record);
  assert.deepEqual(new Set(records), new Set([stage.id]));
});

test('an endpoint that is back before an hour has passed is not spoken of', async (t) => {
  const stage = await startAlertStage(t);
  const { sender, sink, addPosts, idle, passMs } = stage;
  sender.answer = answers.down;
  await addPosts(6);
  await idle();
  await passMs(40 * minute);
  sender.answer = answers.ok;
  await passMs(2 * hour);
  await addPosts(3);
  await idle();
  assert.deepEqual([await kindsOf(stage), sink.mails.length], [[], 0]);
});

test('others are told that an endpoint was disabled and is back, and it is not told of itself', async (t) => {
  const all = [
    'record.create',
    'endpoint.failing',
    'endpoint.disabled',
    'endpoint.recovered',
    'delivery.exhausted',
  ];
  const stage = await startAlertStage(t, { events: all, schedule: [] });
  const { service, sender, sink, id, listener, addPosts, idle, restart, untilNext, wake } = stage;
  const path = `/api/webhooks/endpoints/${id}`;
  sender.answer = answers.down;
  await addPosts(8);
  await idle();
  await backdate(stage, 5 * day);
  await untilNext();
  wake();
  await eventually('it is disabled', async () => (await service.call('GET', path)).status === 'disabled');
  await restart();
  assert.equal((await kindsOf(stage)).filter((kind) => kind === 'endpoint.disabled').length, 1);
  sender.answer = answers.ok;
  await service.call('POST', `${path}/resume`);
  await addPosts(3);
  await idle();
  await restart();
  await addPosts(3);
  await idle();
  const kinds = await kindsOf(stage);
  assert.deepEqual(
    kinds.filter((kind) => kind.startsWith('endpoint.')),
    ['endpoint.failing', 'endpoint.disabled', 'endpoint.recovered'],
  );
  const told = await bodiesTo(stage, listener);
  assert.deepEqual(told.map(({ event }) => String(event)).toSorted(), kinds.toSorted());
  const reason = 'The receiver was down for five days.';
  const url = 'https://shop.example.com/hook?key=hidden';
  assert.deepEqual(told.find(({ event }) => event === 'endpoint.disabled').data, { id, url, reason });
  assert.deepEqual(
    new Set((await bodiesTo(stage, id)).map(({ event }) => event)),
    new Set(['record.create']),
  );
  const subjectsOf = (what: string): number =>
    sink.mails.filter(({ raw }) => raw.includes(`Subject: Harbour & Co: an endpoint ${what}`)).length;
  await eventually('both mails', () => subjectsOf('was disabled') > 0 && subjectsOf('recovered') > 0);
  assert.deepEqual([subjectsOf('was disabled'), subjectsOf('recovered')], [1, 1]);
  // Nor does a replay tell it.
  const replay = await service.call('POST', `${path}/replay`, { body: { scope: 'missing', dryRun: true } });
  const whole = await service.call('POST', `/api/webhooks/endpoints/${listener}/replay`, {
    body: { scope: 'all', dryRun: true },
  });
  assert.equal(whole.total, kinds.length);
  assert.ok(replay.total <= 8);
});

test('the first exhausted delivery of a day is told of, and the others are not', async (t) => {
  const stage = await startAlertStage(t, { schedule: [] });
  const { service, sender, sink, id, listener, clock, addPosts, idle, restart } = stage;
  sender.answer = answers.missing;
  await addPosts(2);
  await idle();
  await restart();
  await addPosts(2);
  await idle();
  assert.deepEqual(await kindsOf(stage), ['delivery.exhausted']);
  const [told] = await bodiesTo(stage, listener);
  const first = (await service.deliveries("status = 'exhausted'")).find(
    (one) => one.id === told.data.delivery,
  );
  assert.deepEqual(told.data, { delivery: first.id, event: first.event, endpoint: id, cause: 'Status 404.' });
  clock.move(day);
  await service.signIn();
  await addPosts(2);
  await idle();
  assert.deepEqual(await kindsOf(stage), ['delivery.exhausted', 'delivery.exhausted']);
  await eventually('two mails', () => sink.mails.length >= 2);
  assert.equal((await sink.mail(0)).parsed.subject, 'Harbour & Co: a webhook could not be delivered');
});

test('two endpoints that are told of each other do not go on telling', async (t) => {
  const stage = await startAlertStage(t, { events: ['delivery.exhausted', 'record.create'], schedule: [] });
  const { service, sender, id, listener, addPosts, idle, clock } = stage;
  await service.call('PATCH', `/api/webhooks/endpoints/${listener}`, { body: { schedule: [] } });
  sender.answerOf.set(listener, answers.missing);
  sender.answer = answers.missing;
  await addPosts(1);
  await idle();
  clock.move(day);
  await service.signIn();
  await idle();
  assert.deepEqual(await kindsOf(stage), ['delivery.exhausted']);
  assert.equal((await bodiesTo(stage, listener)).length, 1);
  assert.deepEqual(
    (await bodiesTo(stage, id)).map(({ event }) => event),
    ['record.create'],
  );
});

test('events about endpoints are neither in the feed nor for records, and need no collection', async (t) => {
  const stage = await startAlertStage(t, { schedule: [] });
  const { service, sender, listener, addPosts, idle } = stage;
  await service.call('PATCH', `/api/webhooks/endpoints/${listener}`, {
    body: { collections: ['posts'], payload: 'thin', coalesce: true },
  });
  sender.answer = answers.missing;
  await addPosts(1);
  await idle();
  const [told] = await bodiesTo(stage, listener);
  assert.equal(told.data.cause, 'Status 404.');
  const feed = await service.call('GET', '/api/webhooks/feed?wait=10');
  assert.deepEqual(
    listOf(feed.items).map((item) => item.payload.event),
    ['record.create'],
  );
  const refused = await service.call('GET', '/api/webhooks/feed?events=delivery.exhausted', { status: 400 });
  assert.match(JSON.stringify(refused), /Expected some of record\.create/);
});

test('an address that is none is refused as a contact', async (t) => {
  const { service } = await startAlertStage(t);
  for (const wrong of [
    'nobody',
    'a@b',
    `${'a'.repeat(250)}@example.com`,
    7,
    'a@example.com\r\nBcc: b@example.com',
  ]) {
    const { data } = await service.call('POST', '/api/webhooks/endpoints', {
      body: { url: service.receiver.url, contact: wrong },
      status: 400,
    });
    assert.deepEqual(Object.keys(data), ['contact']);
  }
});
