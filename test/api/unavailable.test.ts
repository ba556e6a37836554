import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busy } from '../../src/base/errors.ts';
import { eventually } from '../support/eventually.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { startService } from '../support/service.ts';

test('requests answered 503 are in the log of requests under their ids, and one line for the operator', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const service = await startService(t, { parts: { wrapDatabase } });
  for (const database of databases) {
    database.refusal = busy(new Error('the cause'));
    database.canWrite = false;
  }
  const body = { email: 'a@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const path = '/api/collections/users/records';
  const refused = await service.request(path, { method: 'POST', body });
  assert.equal(refused.status, 503);
  const id = refused.headers.get('x-request-id');
  const entry = await eventually('its entry', async () => {
    const filter = encodeURIComponent(`data.requestId = '${id}'`);
    return (await service.request(`/api/logs?filter=${filter}`, { token: true })).json.items[0];
  });
  assert.deepEqual([entry.data.status, entry.data.error], [503, 'The service is busy, try again.']);
  const line = await eventually('the line', () =>
    service.log.find(({ message }) => message.includes('answered 503')),
  );
  assert.deepEqual(line, {
    level: 'error',
    message: '1 request was answered 503: 1 × The service is busy, try again. (the cause)',
    members: { status: 503, requestId: id },
  });
});
