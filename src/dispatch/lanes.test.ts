import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldSender, type SenderPort } from '../../test/support/held-sender.ts';
import { startWebhookService } from '../../test/support/webhook-service.ts';
import { alwaysSafe } from '../events/log-horizon.ts';
import { InstanceLanes } from './lanes.ts';

const endpointCount = 200;
/** 8,192 rows, where each statement counts for 64 at least. */
const readsOfLookMax = 128;

test('a look reads some of many lanes, and the next looks read the others', async (t) => {
  const wrapSender = (real: SenderPort): SenderPort => new HeldSender(real);
  const service = await startWebhookService(t, { parts: { wrapSender } });
  for (let count = 0; count < endpointCount; count += 1) await service.addEndpoint();
  await service.withInstance('default', async (instance) => {
    const lanes = new InstanceLanes(instance.id);
    lanes.lend(instance);
    const decisions = {
      safeEnd: alwaysSafe,
      isOver: () => false,
      onStep: () => undefined,
    };
    const look = { now: instance.dueClock.now(), epoch: '', decisions };
    // Nothing is to be sent, but lanes are still to be read.
    const busy: boolean[] = [];
    for (let looks = 0; looks < 2; looks += 1) {
      await lanes.refill(look);
      lanes.endLook(look.now);
      busy.push(lanes.isBusy(look.now));
    }
    assert.deepEqual(busy, [true, false]);
    await service.addPost();
    lanes.note('log');
    const found: number[] = [];
    for (let looks = 0; looks < 2; looks += 1) {
      await lanes.refill(look);
      found.push(lanes.candidate(look.now).lanes.length);
      lanes.endLook(look.now);
    }
    assert.ok((found[0] ?? 0) <= readsOfLookMax, `${found.join()} lanes`);
    assert.equal(found[1], endpointCount);
    assert.equal(lanes.hasUnread(look.now), false);
  });
});

test('an instance that was paused looks for events of accounts, as nobody reports again what was found meanwhile', async (t) => {
  const wrapSender = (real: SenderPort): SenderPort => new HeldSender(real);
  const service = await startWebhookService(t, { parts: { wrapSender } });
  const password = 'correct horse';
  const body = { email: 'mia@example.com', password, passwordConfirm: password };
  const { id } = await service.call('POST', '/api/collections/users/records', { body });
  await service.addEndpoint({ owner: `users/${id}` });
  await service.withInstance('default', async (instance) => {
    const lanes = new InstanceLanes(instance.id);
    lanes.lend(instance);
    let steps = 0;
    const onStep = (): void => void (steps += 1);
    const decisions = { safeEnd: alwaysSafe, isOver: () => false, onStep };
    const look = async (): Promise<number> => {
      const before = steps;
      await lanes.refill({ now: instance.dueClock.now(), epoch: '', decisions });
      await lanes.decided();
      return steps - before;
    };
    lanes.note('due');
    assert.equal(await look(), 0);
    lanes.pause();
    lanes.note('due');
    assert.equal(await look(), 1);
  });
});
