import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostThread } from '../../src/hosts/host-thread.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { testConfig } from '../support/test-config.ts';

test('a host is answered when the metrics of the process cannot be written', async (t) => {
  const got = Promise.withResolvers<string>();
  const errors: string[] = [];
  const silent = (): void => undefined;
  const thread = new HostThread({
    config: await testConfig(temporaryFolder(t)),
    place: 0,
    memoryBytes: 1_000_000,
    slotsMax: 16,
    file: new URL('exposing-worker.ts', import.meta.url),
    logger: { debug: silent, info: silent, warn: silent, error: (message) => void errors.push(message) },
    onLongTurn: silent,
    onClosed: (id) => got.resolve(id),
    write: () => Promise.reject(new Error('no metrics')),
  });
  assert.equal(await got.promise, 'undefined');
  assert.deepEqual(errors, ['Metrics could not be written.']);
  await thread.stop();
});
