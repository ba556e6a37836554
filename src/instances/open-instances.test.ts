import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { startService } from '../../test/support/service.ts';
import { OpenInstances } from './open-instances.ts';

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
