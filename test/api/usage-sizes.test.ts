// Both engines: each measures sizes in its own way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRecordQuota } from '../../src/collections/table-quotas.ts';
import { type InstanceSize, measuringInstances } from '../../src/instances/measure-instances.ts';
import { addUsage } from '../../src/logs/add-usage.ts';
import { readDiskUse } from '../../src/logs/read-usage.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { FileStage, settledMsMax } from '../support/file-stage.ts';
import { logInto } from '../support/log-into.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { listOf } from '../support/webhook-service.ts';

test('the bytes of files and of the log are measured, under a quota or not, and shown to the operator', async (t) => {
  const stage = await FileStage.start(t);
  const { service } = stage;
  const { directory, instances, home } = service.app.data;
  const { id = '' } = directory.findBySlug('default') ?? {};
  const upload = async (size: number): Promise<string> => {
    const answer = await stage.send('/collections/docs/records', [['papers', 'x'.repeat(size), 'paper.txt']]);
    assert.equal(answer.status, 201, answer.text);
    return answer.json.id;
  };
  const remove = async (record: string): Promise<void> => {
    const path = `/api/collections/docs/records/${record}`;
    assert.equal((await service.request(path, { method: 'DELETE', token: true })).status, 204);
  };
  const measure = async (): Promise<InstanceSize> => {
    const size = (await measuringInstances(instances, logInto([]))(new Set())).get(id);
    assert.ok(size !== undefined);
    return size;
  };
  const holds = (bytes: number): Promise<unknown> =>
    eventually(`there are ${bytes}`, async () => (await measure()).fileBytes === bytes, settledMsMax);
  // One before anything is measured, and one after.
  const first = await upload(3_000);
  await holds(3_000);
  await upload(500);
  await holds(3_500);
  const size = await measure();
  const ofData = home.control.engine === 'sqlite' ? size.dataBytes : 0;
  assert.equal(size.diskBytes, ofData + 3_500);
  const [bodies] = await service.withInstance('default', ({ database }) => {
    const { names } = database;
    return database.tuples(
      sql`SELECT CAST(sum(length(body)) AS bigint) FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
    );
  });
  assert.equal(size.logBytes, Number(bodies?.[0]));
  assert.ok(Number(bodies?.[0]) > 200);
  for (const quotas of [{ fileBytes: 1e6, records: 10 }, { fileBytes: 1e7, records: 11 }, {}]) {
    await directory.setQuotas(id, quotas);
    await eventually('the quotas hold', () =>
      service.withInstance(
        'default',
        async ({ database }) =>
          (await readRecordQuota(database))?.max === ('records' in quotas ? quotas.records : undefined),
      ),
    );
    await holds(3_500);
    const more = await upload(100_000);
    await holds(103_500);
    await remove(more);
    await holds(3_500);
  }
  await remove(first);
  await holds(500);

  const { id: other } = await directory.create('other', null);
  const control = home.background;
  await addUsage(control, new Map([[id, size]]), Date.now());
  await addUsage(control, new Map([[other, { fileBytes: 4_000 }]]), Date.now());
  const { key: token } = await makeOperatorKey(service);
  const ask = async (query: string): Promise<readonly unknown[]> => {
    const { json } = await service.request(`/api/operator/usage?${query}`, { token });
    return listOf(json.items).map((one) => [one.slug, one.fileBytes, one.logBytes, one.diskBytes]);
  };
  const shown = [
    ['other', 4_000, null, null],
    ['default', 3_500, size.logBytes, size.diskBytes],
  ];
  assert.deepEqual(await ask('by=fileBytes'), shown);
  assert.deepEqual(await ask('by=logBytes'), shown.toReversed());
  assert.equal((await service.request('/api/operator/usage?by=bytes', { token })).status, 400);
  // The last one counts, not the largest.
  await addUsage(control, new Map([[id, { dataBytes: 1e9, diskBytes: 2e9 }]]), Date.now() - 2 * 3_600_000);
  assert.deepEqual(await readDiskUse(control), new Map([[id, { data: ofData, files: 3_500 }]]));
});
