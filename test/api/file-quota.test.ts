// Both engines: the room is taken in a transaction of the instance.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRecordQuota } from '../../src/collections/table-quotas.ts';
import { eventually } from '../support/eventually.ts';
import { FileStage, settledMsMax } from '../support/file-stage.ts';
import type { TestAnswer } from '../support/service.ts';

test('the quota of bytes of files counts what is stored already, refuses with 507, and has room again for removed files', async (t) => {
  const stage = await FileStage.start(t);
  const upload = (size: number): Promise<TestAnswer> =>
    stage.send('/collections/docs/records', [['papers', 'x'.repeat(size), 'paper.txt']]);
  const first = await upload(4_000);
  assert.equal(first.status, 201, first.text);
  const { directory } = stage.service.app.data;
  // Both are set in one transaction.
  const limit = async (fileBytes: number, records: number): Promise<void> => {
    await directory.setQuotas(directory.findBySlug('default')?.id ?? '', { fileBytes, records });
    const read = (): ReturnType<typeof readRecordQuota> =>
      stage.service.withInstance('default', ({ database }) => readRecordQuota(database));
    await eventually('the quota holds', async () => (await read())?.max === records);
  };
  await limit(10_000, 100);
  const isRefused = ({ status, json }: TestAnswer): boolean => {
    if (status !== 507) return false;
    assert.deepEqual(json.data.quota.params, { name: 'fileBytes' });
    return true;
  };
  assert.ok(isRefused(await upload(6_001)));
  assert.equal((await upload(6_000)).status, 201);
  assert.ok(isRefused(await upload(1)));
  // What was refused was put nowhere, and takes no room.
  await limit(10_001, 101);
  assert.equal((await upload(1)).status, 201);
  assert.ok(isRefused(await upload(1)));
  const path = `/collections/docs/records/${first.json.id}`;
  assert.equal((await stage.service.request(`/api${path}`, { method: 'DELETE', token: true })).status, 204);
  await eventually('the file is removed', async () => (await upload(4_000)).status === 201, settledMsMax);
  assert.ok(isRefused(await upload(1)));
  assert.equal(
    stage.service.log.some(({ level }) => level === 'error'),
    false,
  );
});
