// Both engines: a job that fails leaves each as it was.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { S3StandIn } from '../support/s3-stand-in.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

/** What requests for backups are answered. None of them is a 5xx but the 507 of a full disk. */
async function answersOf(service: WebhookService): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const [method, path] of [
    ['GET', '/api/backups'],
    ['POST', '/api/backups'],
    ['DELETE', '/api/backups/one.zip'],
    ['POST', '/api/backups/one.zip/restore'],
    ['GET', '/api/backups/one.zip'],
  ] as const) {
    const { status, json } = await service.request(path, { method, token: true });
    answers.push(`${method} ${status} ${json?.message ?? ''}`);
  }
  return answers;
}

async function openStore(t: TestContext, service: WebhookService): Promise<S3StandIn> {
  const store = await S3StandIn.open();
  t.after(() => store[Symbol.asyncDispose]());
  await service.call('PATCH', '/api/settings', { body: { backups: { s3: store.settings } } });
  return store;
}

test('a file in the place of the folder of backups is named to superusers, and nothing is changed', async (t) => {
  const backups = join(temporaryFolder(t), 'backups');
  const service = await startWebhookService(t, { flags: { backups } });
  const instance = service.app.data.directory.findBySlug('default')?.shownId ?? '';
  for (const path of [join(backups, instance), backups]) {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'a file');
    const reason = '400 The folder of backups is no folder.';
    assert.deepEqual(
      await answersOf(service),
      ['GET', 'POST', 'DELETE', 'POST', 'GET'].map((method) => `${method} ${reason}`),
      path,
    );
    rmSync(path);
    rmSync(backups, { recursive: true, force: true });
  }
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  writeFileSync(join(backups, 'file'), '');
  rmSync(join(backups, '.partial'), { recursive: true });
  writeFileSync(join(backups, '.partial'), 'a file');
  const { status, json } = await service.request('/api/backups', { method: 'POST', token: true });
  assert.deepEqual([status, json.message], [400, 'The folder of backups is no folder.']);
  assert.deepEqual(readdirSync(join(backups, instance)), ['one.zip']);
  const { failure } = await service.call('GET', '/api/backups/status');
  assert.deepEqual([failure.kind, failure.message], ['backup', 'The folder of backups is no folder.']);
});

test('a folder of backups without rights is named to superusers', async (t) => {
  // Nobody, not even root, makes folders there.
  const service = await startWebhookService(t, { flags: { backups: '/sys/kernel/chancery' } });
  const { status, json } = await service.request('/api/backups', { method: 'POST', token: true });
  assert.equal(status, 400);
  assert.match(
    json.message,
    /^The (?:service has no rights to the folder of backups|folder of backups cannot be written)\.$/,
  );
  assert.deepEqual(await service.call('GET', '/api/backups'), []);
});

test('a store of backups that refuses, breaks off or answers nonsense is named to superusers, and keeps nothing', async (t) => {
  const service = await startWebhookService(t);
  await service.addPost('kept');
  const store = await openStore(t, service);
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  for (const [fault, reason] of [
    [
      { kind: 'status', status: 403, code: 'AccessDenied' },
      'The store answered with status 403 (AccessDenied).',
    ],
    [
      { kind: 'status', status: 500, code: 'InternalError' },
      'The store answered with status 500 (InternalError).',
    ],
    [{ kind: 'cut' }, 'The connection was lost.'],
  ] as const) {
    store.faultOf = () => fault;
    for (const answer of await answersOf(service)) {
      const [method, status, ...message] = answer.split(' ');
      // The answer to a HEAD has no code.
      const expected = new Set(
        [reason, reason.replace(/ \(\w+\)/, '')].map((text) => `Backups in S3: ${text}`),
      );
      assert.equal(status, '400', `${method} ${answer}`);
      assert.ok(expected.has(message.join(' ')), answer);
    }
    assert.deepEqual(store.keys, ['one.zip']);
  }
  // What is read breaks off, or is other than what was stored, in the middle of the job.
  for (const kind of ['error in 200', 'other bytes'] as const) {
    store.faultOf = ({ method, key }) => (method === 'GET' && key !== '' ? { kind } : undefined);
    const { status, json } = await service.request('/api/backups/one.zip/restore', {
      method: 'POST',
      token: true,
    });
    assert.equal(status, 400, kind);
    assert.match(
      json.message,
      /^(?:The archive cannot be used: |The backup could not be read to its end\.)/,
      kind,
    );
  }
  store.faultOf = () => undefined;
  const partial = join(service.data, 'backups', '.partial');
  assert.deepEqual(existsSync(partial) ? readdirSync(partial) : [], []);
  assert.equal((await service.call('GET', '/api/records/posts')).totalItems, 1);
  await service.call('POST', '/api/backups/one.zip/restore', { status: 204 });
});
