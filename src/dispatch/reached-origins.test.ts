// Both engines: lanes are stored, and read again.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { answers } from '../../test/support/held-sender.ts';
import { type LaneTrial, startLaneTrial } from '../../test/support/lane-trial.ts';
import { ReachedOrigins } from './reached-origins.ts';

const minute = 60_000;
const unreached = { ...answers.down, kind: 'connect', status: null } as const;

interface Trial extends LaneTrial {
  /** Ids of an endpoint, of another one at its origin, and of one elsewhere. */
  readonly ids: readonly [one: string, other: string, elsewhere: string];
  readonly sentTo: (id: string) => number;
}

/** Three endpoints that fail, whose next probes are due in ten minutes. */
async function start(t: TestContext, failure: LaneTrial['sender']['answer'] = unreached): Promise<Trial> {
  const trial = await startLaneTrial(t);
  const { service, sender, clock, addPosts, idle, untilNext } = trial;
  const add = async (url: string): Promise<string> => (await service.addEndpoint({ url })).id;
  const ids = [
    await add('https://shop.example.com/one'),
    await add('https://shop.example.com/other'),
    await add('https://shop.example.com:8443/'),
  ] as const;
  sender.answer = failure;
  await addPosts(10);
  const end = clock.now() + 60 * minute;
  while (clock.now() < end) await untilNext();
  await idle();
  trial.shakeHands();
  const sentTo = (id: string): number => sender.given.filter(({ endpointId }) => endpointId === id).length;
  return { ...trial, ids, sentTo };
}

/** Lets the first endpoint accept everything, and retries one of its deliveries. */
async function reachFirst({ service, sender, ids: [one], idle }: Trial): Promise<void> {
  sender.answerOf.set(one, answers.ok);
  await service.signIn();
  const [waiting] = await service.deliveries(`endpoint = '${one}' && status = 'pending'`);
  await service.call('POST', `/api/webhooks/deliveries/${waiting.id}/retry`);
  await idle();
}

test('an endpoint that could not be reached is probed once another at its origin is, and no other is', async (t) => {
  const trial = await start(t);
  const { service, sender, idle, sentTo, ids } = trial;
  const [, other, elsewhere] = ids;
  const [before, beforeElsewhere] = [sentTo(other), sentTo(elsewhere)];
  sender.answerOf.set(other, answers.ok);
  await reachFirst(trial);
  assert.equal(sentTo(other), before);
  trial.shakeHands();
  await idle();
  assert.equal((await service.deliveries(`endpoint = '${other}' && status != 'delivered'`)).length, 0);
  assert.equal(sentTo(elsewhere), beforeElsewhere);
});

test('an endpoint that answers with failures is not probed for others at its origin', async (t) => {
  const trial = await start(t, answers.down);
  const before = trial.sentTo(trial.ids[1]);
  await reachFirst(trial);
  trial.shakeHands();
  await trial.idle();
  assert.equal(trial.sentTo(trial.ids[1]), before);
});

test('one that stays away is probed once, however often others at its origin succeed', async (t) => {
  const trial = await start(t);
  const { clock, addPosts, idle, sentTo, ids } = trial;
  const before = sentTo(ids[1]);
  await reachFirst(trial);
  for (let turn = 0; turn < 50; turn += 1) {
    trial.shakeHands();
    await addPosts(1);
    await idle();
  }
  assert.equal(sentTo(ids[1]), before + 1);
  clock.move(minute);
  trial.shakeHands();
  await idle();
  assert.ok(sentTo(ids[1]) <= before + 2);
});

test('nodes are told what others wait for, once, and what they wait for in turn', () => {
  const origins = new ReachedOrigins();
  origins.hear({ waiting: ['https://a', 'https://b'], reached: ['https://c'] }, 0);
  origins.note('https://a');
  origins.note('https://d');
  const taken = origins.take(1);
  assert.deepEqual([...taken.all].toSorted(), ['https://a', 'https://c', 'https://d']);
  assert.deepEqual(taken.wished, ['https://a']);
  origins.note('https://a');
  assert.deepEqual(origins.take(1).wished, []);
  origins.note('https://b');
  assert.deepEqual(origins.take(2 * minute).wished, [], 'the wish is too old');
  assert.equal(origins.newsOf([], []), undefined);
  const many = Array.from({ length: 1_000 }, (_, index) => `https://receiver-${index}.example.com`);
  const told = new Set<string>();
  for (let turn = 0; turn < 10; turn += 1) {
    const news = origins.newsOf(many, ['https://a']);
    assert.deepEqual(news?.reached, ['https://a']);
    assert.ok(JSON.stringify(news).length < 7_900);
    for (const origin of news.waiting) told.add(origin);
  }
  assert.equal(told.size, many.length);
});
