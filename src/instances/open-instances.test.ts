import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { eventually } from '../../test/support/eventually.ts';
import { startService } from '../../test/support/service.ts';
import { filesEach, OpenInstances } from './open-instances.ts';

test('nobody gets an instance before it is on disk that it is open, nor again before it is on disk what is due', async (t) => {
  const service = await startService(t);
  const { directory } = service.app.data;
  const [entry] = directory.all();
  assert.ok(entry !== undefined);
  const order: string[] = [];
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const silent = (): void => undefined;
  await service.withInstance('default', async (instance) => {
    const instances = new OpenInstances({
      open: () => {
        order.push('open');
        return Promise.resolve({ ...instance, stop: async () => void order.push('stop') });
      },
      index: {
        opened: () => opened.promise,
        closed: async (_, close) => {
          await close();
          await closed.promise;
          order.push('noted');
        },
      },
      readDue: async () => {
        order.push('read');
        return { webhooks: undefined, upkeep: undefined };
      },
      clock: systemClock,
      logger: { debug: silent, info: silent, warn: silent, error: silent },
    });
    const lent = instances.borrow(entry).then((loan) => {
      order.push('lent');
      return loan;
    });
    await new Promise((resolve) => setImmediate(resolve));
    order.push('noted as open');
    opened.resolve();
    (await lent).release();
    instances.closeIdle(entry.id);
    const again = instances.borrow(entry);
    await new Promise((resolve) => setImmediate(resolve));
    closed.resolve();
    (await again).release();
    await instances.stop();
  });
  assert.deepEqual(order.slice(0, 7), ['open', 'noted as open', 'lent', 'read', 'stop', 'noted', 'open']);
});

test('an instance and the log of its requests have as many files open as places are counted by', async (t) => {
  const service = await startService(t);
  const { id } = await service.app.data.directory.create('shop', null);
  const count = (): number => openFiles().filter((path) => path.includes(`/instances/${id}/`)).length;
  assert.equal(count(), 0);
  await eventually('the log of requests is open', async () => {
    assert.equal((await service.request('/i/shop/api/collections/none/records')).status, 404);
    return openFiles().some((path) => path.endsWith(`/${id}/logs.db-wal`));
  });
  // A log may have one more, left by a connection that was closed.
  assert.ok(count() <= filesEach && count() >= filesEach - 1, String(count()));
});

/** Of this process. */
function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // It was closed since it was listed.
      return [];
    }
  });
}
