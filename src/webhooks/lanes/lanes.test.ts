// One engine is enough: which lanes are read follows from how many rows there were.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldSender, type SenderPort } from '../../../test/support/held-sender.ts';
import { startWebhookService } from '../../../test/support/webhook-service.ts';
import { alwaysSafe } from '../../events/safe-position.ts';
import { InstanceLanes, newKnownLanes } from './lanes.ts';

const endpointCount = 200;
/** 8,192 rows, where each statement counts for 64 at least. */
const readsOfLookMax = 128;

test('a look reads for some of many lanes, and the next ones for the others', async (t) => {
  const wrapSender = (real: SenderPort): SenderPort => new HeldSender(real);
  const service = await startWebhookService(t, { parts: { wrapSender } });
  for (let count = 0; count < endpointCount; count += 1) await service.addEndpoint();
  await service.addPost();
  await service.withInstance('default', async (instance) => {
    const lanes = new InstanceLanes(instance, newKnownLanes());
    const decisions = {
      safeEnd: alwaysSafe,
      isOver: () => false,
      onDecided: () => undefined,
      onIdle: () => undefined,
    };
    const look = { now: instance.dueClock.now(), safe: Number.MAX_SAFE_INTEGER, epoch: '', decisions };
    const found: number[] = [];
    for (let looks = 0; looks < 2; looks += 1) {
      await lanes.refill(look);
      found.push(lanes.candidate(look.now).lanes.length);
    }
    assert.ok((found[0] ?? 0) <= readsOfLookMax, `${found.join()} lanes`);
    assert.equal(found[1], endpointCount);
    assert.equal(lanes.hasUnread(look.now), false);
  });
});
