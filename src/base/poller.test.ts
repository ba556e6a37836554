import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { Poller } from './poller.ts';

test('a poller is unwell after a failed poll, reports it once, and is well after the next success', async (t) => {
  const errors: unknown[] = [];
  let looks = 0;
  let isAway = false;
  const watch = new Poller({
    intervalMs: 1,
    poll: async () => {
      looks += 1;
      if (isAway) throw new Error(`look ${looks}`);
    },
    onError: (error) => errors.push(error),
  });
  t.after(() => watch.stop());
  await eventually('two looks', () => looks >= 2);
  assert.equal(watch.isWell, true);
  isAway = true;
  await eventually('it is unwell', () => !watch.isWell);
  const seen = looks;
  await eventually('three more looks', () => looks >= seen + 3);
  assert.equal(errors.length, 1);
  isAway = false;
  await eventually('it is well again', () => watch.isWell);
});

test('it is unwell while a look does not end, and starts no other beside it', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let looks = 0;
  const watch = new Poller({
    intervalMs: 1,
    poll: () => {
      looks += 1;
      return looks === 1 ? promise : Promise.resolve();
    },
    onError: assert.ifError,
  });
  t.after(() => watch.stop());
  await eventually('it is unwell', () => !watch.isWell);
  assert.equal(looks, 1);
  resolve();
  await eventually('it is well again', () => watch.isWell && looks > 1);
});

test('a poller polls again on request, after the running poll', async (t) => {
  const first = Promise.withResolvers<void>();
  let looks = 0;
  const watch = new Poller({
    intervalMs: 60_000,
    poll: () => {
      looks += 1;
      return looks === 1 ? first.promise : Promise.resolve();
    },
    onError: assert.ifError,
  });
  t.after(() => watch.stop());
  const asked = [watch.look(), watch.look()];
  await eventually('the first look', () => looks === 1);
  const last = watch.look();
  first.resolve();
  await Promise.all(asked);
  await last;
  assert.equal(looks, 2);
});
