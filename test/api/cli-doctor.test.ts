// Both engines: it looks at files on one and at a server on the other.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { checkCertificateEnd, checkNode } from '../../src/cli/doctor/check-machine.ts';
import type { Check } from '../../src/cli/doctor/checks.ts';
import { makeCertificate } from '../support/certificate.ts';
import { localRun, type Run } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { Receiver } from '../support/receiver.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startService, type TestService } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWebhookService } from '../support/webhook-service.ts';

interface Diagnosis {
  readonly code: number | null;
  readonly checks: readonly Check[];
  /** `ok`, or the messages of what is not well, of all checks with this name. */
  readonly of: (name: string) => string;
}

async function diagnose(run: Run, ...args: readonly string[]): Promise<Diagnosis> {
  const { code, stdout, stderr } = await run(['doctor', '--json', ...args]);
  assert.equal(stderr, '');
  // checks.ts writes it so.
  const { well, checks } = JSON.parse(stdout) as { well: boolean; checks: readonly Check[] };
  assert.equal(code, well ? 0 : 1);
  const of = (name: string): string => {
    const named = checks.filter((check) => check.name === name);
    assert.ok(named.length > 0, `no check is named ${name}: ${stdout}`);
    const problems = named.filter(({ state }) => state !== 'ok');
    return problems.length === 0
      ? 'ok'
      : problems.map(({ state, message }) => `${state}: ${message}`).join(' ');
  };
  return { code, checks, of };
}

const onService: (service: Pick<TestService, 'url'>, token: string) => Run =
  ({ url }, token) =>
  (args, options) =>
    runInProcess([...args, '--url', url, '--token', token], options);

async function set(service: TestService, settings: object): Promise<void> {
  const { status, text } = await service.request('/api/settings', {
    method: 'PATCH',
    token: true,
    body: settings,
  });
  assert.equal(status, 200, text);
}

test('data of this machine that is well is said to be, in lines and as JSON, and nothing is left beside it', async (t) => {
  const service = await startService(t);
  const run = await localRun(service.data);
  const { code, of } = await diagnose(run);
  assert.equal(code, 0);
  const ofFiles = testEngine === 'sqlite' ? ['disk space', 'migrations'] : [];
  for (const name of ['node', 'database', 'instance', 'deliveries', 'files', ...ofFiles])
    assert.equal(of(name), 'ok', name);
  assert.equal(of('mail'), 'warning: No mail is sent: no server is set.');
  assert.match(of('public URL'), /^warning: .* is this machine alone\.$/);
  const { stdout } = await run(['doctor']);
  assert.match(stdout, /^ok {7}node {8}Node \d/);
  assert.match(
    stdout,
    /^warning {2}mail {8}No mail is sent: no server is set\.\n {21}Set smtp in the settings/m,
  );
  assert.deepEqual(
    readdirSync(service.data).filter((name) => name.startsWith('.')),
    [],
  );
});

test('a damaged file is named, and the data is not opened', async (t) => {
  if (testEngine !== 'sqlite') return t.skip('there are no files on PostgreSQL');
  const { data, file } = await stoppedData(t);
  const size = statSync(file).size;
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(size - 8_192, 0xa5), 0, size - 8_192, 8_192);
  closeSync(handle);
  const { code, of } = await diagnose(await localRun(data));
  assert.equal(code, 1);
  assert.match(of('database'), /^failure: instances.*data\.db is damaged: /);
  assert.equal(of('instance'), 'warning: It was not checked.');
});

test('data of an older or a newer version is said to be, and stays as it is', async (t) => {
  if (testEngine !== 'sqlite') return t.skip('a database of PostgreSQL is upgraded when it is opened');
  const { data, file } = await stoppedData(t);
  const change = (statement: string): void => {
    const database = new DatabaseSync(file);
    database.exec(statement);
    database.close();
  };
  const steps = (): unknown => {
    const database = new DatabaseSync(file, { readOnly: true });
    const row = database.prepare('SELECT count(*) AS steps FROM "$migration"').get();
    database.close();
    return row?.['steps'];
  };
  const known = steps();
  change('DELETE FROM "$migration" WHERE number = (SELECT max(number) FROM "$migration")');
  const older = await diagnose(await localRun(data));
  assert.deepEqual(
    [older.code, older.of('migrations')],
    [0, 'warning: 1 file of an older version than this one.'],
  );
  assert.equal(older.of('instance'), 'warning: It was not checked.');
  assert.equal(steps(), Number(known) - 1);
  change(`INSERT INTO "$migration" (number, name, admits) VALUES (998, 'a', 1), (999, 'b', 1)`);
  const newer = await diagnose(await localRun(data));
  assert.equal(newer.of('migrations'), 'warning: 1 file of a newer version than this one.');
});

/** Returns data that no server uses, and the path of its instance's file. */
async function stoppedData(t: TestContext): Promise<{ readonly data: string; readonly file: string }> {
  const service = await startService(t);
  await service.stop();
  const [id = ''] = readdirSync(join(service.data, 'instances'));
  return { data: service.data, file: join(service.data, 'instances', id, 'data.db') };
}

test('where there is no data, that is what is wrong', async (t) => {
  const data = join(temporaryFolder(t), 'none');
  const run: Run = (args, options) => runInProcess([...args, '--data', data], options);
  const { code, of } = await diagnose(run);
  assert.deepEqual([code, of('database')], [1, `failure: There is no data directory ${data}.`]);
});

test('a service elsewhere is looked at from outside and inside', async (t) => {
  const service = await startService(t);
  const { code, of } = await diagnose(onService(service, service.superuser.token));
  assert.equal(code, 0);
  for (const name of ['node', 'service', 'clock', 'certificate', 'deliveries', 'files'])
    assert.equal(of(name), 'ok', name);
  const { key } = await makeKey(service, ['records:read']);
  const narrow = await diagnose(onService(service, key));
  assert.equal(narrow.code, 0);
  assert.match(narrow.of('instance'), /^warning: Only superusers and keys with the scope admin/);
  const wrong = await diagnose(onService(service, 'ck_wrong'));
  assert.equal(wrong.code, 1);
  assert.match(wrong.of('instance'), /^failure: /);
});

test('what the settings name is tried', async (t) => {
  const service = await startService(t);
  const smtp = { enabled: true, host: 'mail.example.net', port: 25 };
  const s3 = {
    enabled: true,
    bucket: 'files',
    region: 'r',
    endpoint: 'http://127.0.0.1:9',
    accessKey: 'a',
    secret: 'a secret of s3',
    forcePathStyle: true,
  };
  await set(service, { smtp, s3, meta: { appURL: 'https://nowhere.invalid' } });
  const run = onService(service, service.superuser.token);
  const first = await diagnose(run);
  assert.equal(first.code, 1);
  assert.match(first.of('mail'), /^warning: Mails are sent by support@example\.com, which is an example\.$/);
  assert.match(first.of('files'), /^failure: Failed to test the S3 filesystem\. /);
  assert.match(first.of('public URL'), /^warning: https:\/\/nowhere\.invalid cannot be reached from here: /);
  await set(service, {
    s3: { enabled: false },
    meta: { appURL: 'http://chancery.example.net', senderAddress: 'a@example.net' },
  });
  const second = await diagnose(run);
  assert.deepEqual([second.of('mail'), second.of('files')], ['ok', 'ok']);
  assert.match(second.of('public URL'), /is not https\.$/);
});

test('an event that has waited for long is said', async (t) => {
  const clock = new MovableClock(Date.now());
  const service = await startWebhookService(t, { parts: { clock } });
  await service.addEndpoint({ status: 'paused' });
  await service.addPost();
  clock.move(3_600_000);
  const { key } = await makeKey(service, ['admin']);
  const { code, of } = await diagnose(onService(service, key));
  assert.deepEqual([code, of('deliveries')], [0, 'warning: The oldest event has waited for 1 h.']);
});

test('an endpoint that fails is named, with its reason', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  await service.receiver.close();
  for (const title of ['a', 'b', 'c', 'd', 'e', 'f']) await service.addPost(title);
  const named = await eventually('the endpoint', async () => {
    const { checks } = await diagnose(onService(service, service.superuser.token));
    return checks.find(({ name }) => name === 'endpoint')?.message;
  });
  assert.match(named, /^http\S+ \(\w+\) fails since \S+ \S+: ./);
  assert.ok(named.includes(String(id)));
});

test('a clock that is wrong, and what is no service, are said', async (t) => {
  const answers = {
    aheadMs: 0,
    status: 200,
    text: '{"code":200,"message":"The service is ready.","data":{}}',
  };
  const server = createServer((_, response) => {
    response.sendDate = false;
    response.setHeader('date', new Date(Date.now() + answers.aheadMs).toUTCString());
    response.writeHead(answers.status, { 'content-type': 'application/json' }).end(answers.text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo;
  const run = onService({ url: `http://127.0.0.1:${port}` }, 'ck_any');
  assert.equal((await diagnose(run)).of('clock'), 'ok');
  answers.aheadMs = 60_000;
  assert.match(
    (await diagnose(run)).of('clock'),
    /^warning: The clock of the service is (?:1 min|59 s|1 min 1 s) ahead of that of this machine\.$/,
  );
  answers.aheadMs = -3_600_000;
  const late = await diagnose(run);
  assert.equal(late.code, 1);
  assert.match(late.of('clock'), /^failure: .* behind that of this machine\.$/);
  Object.assign(answers, { aheadMs: 0, status: 503 });
  assert.match((await diagnose(run)).of('service'), /^failure: \S+ is not ready\.$/);
  Object.assign(answers, { status: 200, text: '{}' });
  assert.match(
    (await diagnose(run)).of('service'),
    /^failure: \S+ answers 200 where the probe of a service is expected\.$/,
  );
  server.close();
  await once(server, 'close');
  assert.match((await diagnose(run)).of('service'), /^failure: \S+ cannot be reached: /);
});

test('a certificate is looked at where it is served, and where it lies', async (t) => {
  const past = new Date(Date.now() - 86_400_000 / 2);
  const [good, expired] = [
    makeCertificate({ names: ['localhost'] }),
    makeCertificate({ names: ['localhost'], notAfter: past }),
  ];
  const served = async (tls: { readonly key: string; readonly cert: string }): Promise<Diagnosis> => {
    const receiver = await Receiver.open({ tls });
    t.after(() => receiver.close());
    const { port } = new URL(receiver.url);
    return diagnose(onService({ url: `https://localhost:${port}` }, 'ck_any'));
  };
  assert.match((await served(good)).of('certificate'), /^failure: It is not trusted: /);
  assert.match((await served(expired)).of('certificate'), /^failure: It has expired on \d{4}-\d\d-\d\d\.$/);
  const service = await startService(t);
  const folder = temporaryFolder(t);
  const own = async (text: string): Promise<string> => {
    const file = join(folder, 'cert.pem');
    writeFileSync(file, text);
    const environment = { CHANCERY_TLS_CERT: file, CHANCERY_TLS_KEY: file };
    const run = await localRun(service.data);
    return (await diagnose((args, options) => run(args, { ...options, environment }))).of('certificate');
  };
  assert.match(await own(good.cert), /^warning: It is valid for (?:1 day|23 h)/);
  assert.match(await own(expired.cert), /^failure: It has expired/);
  assert.match(await own('nothing'), /^failure: .*cert\.pem cannot be used: /);
});

test('a certificate that ends soon, and a Node that is too old, are told from those that are well', () => {
  const day = 86_400_000;
  assert.deepEqual(
    [20, 13, -1].map((days) => checkCertificateEnd(Date.now() + days * day).state),
    ['ok', 'warning', 'failure'],
  );
  assert.deepEqual(
    ['24.14.9', '24.15.0', '26.0.0', '9.99.0'].map((version) => checkNode(version).state),
    ['failure', 'ok', 'ok', 'failure'],
  );
});
