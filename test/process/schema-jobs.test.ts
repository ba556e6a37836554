import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { serveMain } from '../support/main-process.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { older, SchemaStage, type ShownJob, target } from '../support/schema-stage.ts';
import { masterKey } from '../support/test-config.ts';

test('after kill -9 a schema job goes on where it was', async (t) => {
  const stage = await SchemaStage.open(t);
  const { key } = await makeOperatorKey(stage.service);
  const slugs = Array.from({ length: 40 }, (_, at) => `old-${at}`);
  for (const slug of slugs) await stage.make(slug, older);
  const { data } = stage.service;
  await stage.service.stop();
  const environment = { CHANCERY_KEY: masterKey };
  const first = await serveMain(t, data, { environment });
  const ask = async (url: string, path: string, init: RequestInit = {}): Promise<ShownJob> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/api/operator/schema${path}`, { ...init, headers });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    // What the description of the route says.
    return (await answer.json()) as ShownJob;
  };
  const body = JSON.stringify({ instances: slugs, collections: target });
  const { id } = await ask(first.url, '', { method: 'PUT', body });
  await eventually('some are done', async () => Number((await ask(first.url, `/${id}`))['done']) >= 2);
  first.process.kill('SIGKILL');
  await first.process.ended;
  const control = new DatabaseSync(join(data, 'control.db'));
  // As after 30 seconds.
  control.exec(`UPDATE "$schema_job" SET held_until = 0`);
  control.close();

  const { url } = await serveMain(t, data, { environment });
  const job = await eventually('it is over', async () => {
    const shown = await ask(url, `/${id}`);
    return ['waiting', 'running'].includes(shown.state) ? undefined : shown;
  });
  assert.deepEqual([job.state, job['changed']], ['done', slugs.length]);
  const again = await ask(url, '', { method: 'PUT', body });
  const repeated = await eventually('it is over', async () => {
    const shown = await ask(url, `/${again.id}`);
    return ['waiting', 'running'].includes(shown.state) ? undefined : shown;
  });
  assert.deepEqual([repeated.state, repeated['unchanged']], ['done', slugs.length]);
});
