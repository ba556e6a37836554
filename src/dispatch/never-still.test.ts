// Both engines: lanes read what is due.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/faults/random.ts';
import { eventually } from '../../test/support/eventually.ts';
import { answers, type HeldSender } from '../../test/support/held-sender.ts';
import { type LaneTrial, startLaneTrial } from '../../test/support/lane-trial.ts';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { startWebhookService } from '../../test/support/webhook-service.ts';
import { readOldestPending } from '../deliveries/log/count-waiting.ts';

/** A clock that moves on when it is read, as time passes during a look. */
class RestlessClock extends MovableClock {
  readonly #stepMs: () => number;

  constructor(stepMs: () => number) {
    super();
    this.#stepMs = stepMs;
  }

  override now(): number {
    this.move(this.#stepMs());
    return super.now();
  }
}

/** Goes on until all is delivered. The dispatcher is looked at only when it wants to be. */
async function untilDelivered({ service, tick }: LaneTrial, what: string): Promise<void> {
  const isDone = (): Promise<boolean> =>
    service.withInstance('default', async ({ database }) => {
      return (await readOldestPending(database)) === undefined;
    });
  // Fails at once when a lane stands still; otherwise something is under way whenever it waits for no time.
  for (let ticks = 0; !(await isDone()); ticks += 1) {
    assert.ok(ticks < 50_000, `${what}: it goes on and on`);
    await tick();
  }
}

function answerAtRandom(sender: HeldSender, random: Random): void {
  const draw = random.unit();
  if (draw < 0.6) sender.answer = answers.ok;
  else if (draw < 0.75) sender.answer = answers.down;
  else if (draw < 0.85) sender.answer = answers.missing;
  else sender.answer = { ...answers.down, status: 429, retryAfterSeconds: random.integer(0, 20) };
}

test('a token that arrives during a look without one wakes the lane', async (t) => {
  const trial = await startLaneTrial(t, { clock: new RestlessClock(() => 60) });
  await trial.service.addEndpoint({ rateLimit: 2 });
  await trial.addPosts(40);
  trial.wake();
  await untilDelivered(trial, 'a rate limit');
});

/** So often that nothing is exhausted. */
const schedule = [1, 2, 3, ...Array.from({ length: 40 }, () => 5)];

test('a lane with a due delivery never stalls, whatever limits it, though time passes during each look', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const trial = await startLaneTrial(t, {
    clock: new RestlessClock(() => (random.unit() < 0.5 ? 0 : random.integer(1, 50))),
  });
  const { service, sender, tick } = trial;
  for (const options of [
    { rateLimit: 3 },
    { rateLimit: 2, order: 'record' },
    { rateLimit: 8, order: 'strict', onExhausted: 'skip' },
    { maxInFlight: 1 },
  ]) {
    await service.signIn();
    // One at a time, as what makes one lane go on would make others go on as well.
    const { id } = await service.addEndpoint({ ...options, schedule });
    for (let round = 0; round < 5; round += 1) {
      answerAtRandom(sender, random);
      await service.signIn();
      await trial.addPosts(random.integer(1, 25));
      trial.wake();
      for (let ticks = random.integer(0, 20); ticks > 0; ticks -= 1) {
        await tick();
      }
    }
    sender.answer = answers.ok;
    await untilDelivered(trial, `seed ${seed}, ${JSON.stringify(options)}`);
    await service.signIn();
    await service.call('DELETE', `/api/webhooks/endpoints/${id}`);
  }
});

test('an endpoint with a rate limit gets all of its webhooks while nothing else happens', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ rateLimit: 10 });
  for (let count = 0; count < 25; count += 1) await service.addPost(`${count}`);
  await service.receiver.waitForRequests(25);
});

test('a stalled lane is woken by the sweep, counted and logged', async (t) => {
  const trial = await startLaneTrial(t);
  const { service, sender, sweep } = trial;
  await service.addEndpoint({ maxInFlight: 1 });
  sender.answer = undefined;
  await trial.addPosts(2);
  trial.wake();
  await eventually('the first is sent', () => sender.given.length === 1);
  await service.addEndpoint();
  trial.wake();
  await trial.tick();
  assert.equal(sweep(), 0);
  // They have no owner during the look that follows, and nobody tells them when they have one again.
  trial.setOwned(false);
  sender.succeed(sender.given);
  await eventually(
    'the first is delivered',
    async () => (await service.deliveries("status = 'delivered'")).length === 1,
  );
  assert.equal(sweep(), 0);
  trial.setOwned(true);
  assert.equal(sender.given.length, 1);
  assert.equal(sweep(), 2);
  await eventually('the second is sent', () => sender.given.length === 2);
  sender.succeed(sender.given.slice(1));
  await trial.idle();
  assert.equal(sweep(), 2);
});
