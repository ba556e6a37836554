import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { makeCertificate } from '../support/certificate.ts';
import { describePlaces, remoteRun } from '../support/command-stage.ts';
import { Receiver, type ReceiverMode } from '../support/receiver.ts';
import type { CommandResult } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { listOf, startWebhookService } from '../support/webhook-service.ts';

describePlaces('endpoint', (start) => {
  test('the public keys of signatures are shown and rotated', async (t) => {
    const { run } = await start(t);
    const rows = async (...flags: readonly string[]) =>
      listOf(JSON.parse((await run(['endpoint', 'keys', '--json', ...flags])).stdout));
    assert.deepEqual(await rows(), []);
    await run(['endpoint', 'create', 'http://127.0.0.1:9/hook', '--dev', '--ed25519']);
    const [first] = await rows();
    assert.match(first?.publicKey, /^whpk_/);
    const rotated = await rows('--rotate', '--overlap', '60');
    assert.deepEqual([rotated.length, rotated[1]?.id, rotated[0]?.until], [2, first?.id, '']);
    assert.equal((await rows('--rotate', '--overlap', '0')).length, 1);
    assert.match((await run(['endpoint', 'keys'])).stdout, /\twhpk_/);
    assert.equal((await run(['endpoint', 'keys', '--overlap', '5'])).code, 64);
  });

  test('certificates of an endpoint are read from files, and the key is not shown', async (t) => {
    const { run } = await start(t);
    const { cert, key } = makeCertificate({ names: ['client.test'], commonName: 'client.test' });
    const folder = temporaryFolder(t);
    const [certFile, keyFile] = ['client.pem', 'client.key'].map((name) => join(folder, name));
    assert.ok(certFile !== undefined && keyFile !== undefined);
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
    const tls = ['--client-cert', certFile, '--client-key', keyFile, '--ca', certFile];
    const create = ['endpoint', 'create', 'https://127.0.0.1:9/hook', '--dev', '--json'];
    const { id, clientCertificate, ca } = jsonOf(await run([...create, ...tls]));
    assert.deepEqual([Object(clientCertificate).subject, ca], ['CN=client.test', cert]);
    const update = ['endpoint', 'update', String(id), '--dev', '--json'];
    const again = jsonOf(await run([...update, '--client-cert', certFile]));
    assert.deepEqual(again['clientCertificate'], clientCertificate);
    const none = jsonOf(await run([...update, '--client-cert', '', '--ca', '']));
    assert.deepEqual([none['clientCertificate'], none['ca']], [null, '']);
    const alone = await run([...update, '--client-key', keyFile]);
    assert.deepEqual([alone.code, alone.stderr.includes('give both')], [64, true]);
    const missing = await run([...update, '--ca', join(folder, 'absent.pem')]);
    assert.ok(missing.code !== 0 && missing.stderr.includes('absent.pem'));
  });

  test('an endpoint is created with its secret, listed, shown, changed and deleted', async (t) => {
    const { run } = await start(t);
    const url = 'http://127.0.0.1:9/hook';
    const create = ['endpoint', 'create', url, '--dev', '--events', 'record.create, record.delete'];
    const settings = [
      '--collections',
      'posts',
      '--header',
      'X-Shop: berlin',
      '--header',
      'Authorization: Bearer f00d',
    ];
    const made = jsonOf(await run([...create, ...settings, '--schedule', '5,60', '--paused', '--json']));
    assert.match(String(made['secret']), /^whsec_/);
    assert.deepEqual(
      [made['url'], made['events'], made['headers'], made['schedule'], made['status']],
      [
        url,
        ['record.create', 'record.delete'],
        { 'x-shop': 'berlin', authorization: '********' },
        [5, 60],
        'paused',
      ],
    );
    const id = String(made['id']);

    const list = await run(['endpoint', 'list']);
    assert.equal(list.stdout, `${id}\tpaused\tclosed\t${url}\tcreate,delete\tnone\t\t\t\n`);
    const [listed] = JSON.parse(
      (await run(['endpoint', 'list', '--json', '--filter', "url ~ 'hook'"])).stdout,
    );
    assert.deepEqual([listed.id, listed.secret, listed.lane], [id, undefined, undefined]);

    const shown = (await run(['endpoint', 'show', id])).stdout;
    assert.match(
      shown,
      /^id\t\w+\nurl\t.*\nstatus\tpaused\nstate\tclosed\nwaiting\t0\nattempts\t0: 0 delivered, 0 failed; 0 given up\n/,
    );
    assert.ok(!shown.includes('whsec_'));
    const json = jsonOf(await run(['endpoint', 'show', id, '--json']));
    assert.deepEqual(Object(json['stats'])['state'], 'closed');

    const update = ['endpoint', 'update', id, '--dev', '--json'];
    const changes = ['--to', `${url}/2`, '--schedule', 'standard', '--max-age-seconds', '60', '--coalesce'];
    const changed = jsonOf(
      await run([...update, ...changes, '--header', 'X-Shop:', '--header', 'X-Floor: 2']),
    );
    assert.deepEqual(
      [changed['url'], changed['schedule'], changed['maxAgeSeconds'], changed['coalesce'], changed['events']],
      [`${url}/2`, null, 60, true, ['record.create', 'record.delete']],
    );
    const shape = ['--fields', 'title, rank', '--cloud-events', '--batch', '50,2000'];
    const shaped = jsonOf(await run([...update, ...shape]));
    assert.deepEqual(
      [shaped['fields'], shaped['cloudEvents'], shaped['batch']],
      [['title', 'rank'], true, { max: 50, waitMs: 2_000 }],
    );
    const plain = ['--payload', 'thin', '--fields', '', '--no-cloud-events', '--batch', 'none'];
    const thin = jsonOf(await run([...update, ...plain]));
    assert.deepEqual(
      [thin['payload'], thin['fields'], thin['cloudEvents'], thin['batch']],
      ['thin', [], false, null],
    );
    const wrong = await run([...update, '--batch', '50']);
    assert.notEqual(wrong.code, 0);
    assert.match(wrong.stderr, /--batch takes a count and milliseconds, as "100,2000", not "50"/);
    assert.deepEqual(changed['headers'], { authorization: '********', 'x-floor': '2' });
    const back = jsonOf(
      await run([...update, '--no-coalesce', '--max-age-seconds', 'none', '--schedule', '']),
    );
    assert.deepEqual([back['coalesce'], back['maxAgeSeconds'], back['schedule']], [false, null, []]);

    const rotated = jsonOf(await run(['endpoint', 'rotate', id, '--overlap', '60', '--json']));
    assert.match(String(rotated['secret']), /^whsec_/);
    assert.notEqual(rotated['secret'], made['secret']);
    assert.match(
      (await run(['endpoint', 'rotate', id])).stdout,
      /^secret\twhsec_\S+\npreviousSecretUntil\t20/,
    );
    assert.equal((await run(['endpoint', 'rotate', id, '--overlap', 'soon'])).code, 64);

    assert.equal((await run(['endpoint', 'resume', id])).stdout, `Endpoint ${id} is active.\n`);
    assert.equal((await run(['endpoint', 'pause', id])).stdout, `Endpoint ${id} is paused.\n`);
    const skip = ['endpoint', 'resume', id, '--backlog', 'skip'];
    const unsure = await run(skip);
    assert.deepEqual(
      [unsure.code, /This cancels all queued deliveries of the endpoint/.test(unsure.stderr)],
      [64, true],
    );
    assert.equal(jsonOf(await run([...skip, '--yes', '--json']))['status'], 'active');

    const remove = ['endpoint', 'delete', id];
    assert.equal((await run(remove)).code, 64);
    assert.equal((await run(remove, { columns: 80, input: 'no\n' })).code, 65);
    assert.deepEqual(await run([...remove, '--yes']), said(`Endpoint ${id} deleted.\n`));
    const gone = await run([...remove, '--yes']);
    assert.deepEqual([gone.code, gone.stderr], [65, `chancery: There is no endpoint ${id}.\n`]);
  });

  test('an endpoint is named by its id or by its name, whatever the name looks like', async (t) => {
    const { run } = await start(t);
    const create = ['endpoint', 'create', 'http://127.0.0.1:9/', '--dev', '--json', '--name'];
    const shop = jsonOf(await run([...create, 'shop.berlin']));
    assert.equal(shop['name'], 'shop.berlin');
    const lookalike = jsonOf(await run([...create, 'abcdefghij12345']));
    // An id goes before the same name.
    const other = jsonOf(await run([...create, String(shop['id'])]));
    const idOf = async (text: string): Promise<unknown> =>
      jsonOf(await run(['endpoint', 'show', text, '--json']))['id'];
    for (const { id, name } of [shop, lookalike]) {
      assert.equal(await idOf(String(id)), id);
      assert.equal(await idOf(String(name)), id);
    }
    assert.equal(await idOf(String(other['name'])), shop['id']);
    assert.equal(
      (await run(['endpoint', 'pause', 'shop.berlin'])).stdout,
      'Endpoint shop.berlin is paused.\n',
    );
    const renamed = jsonOf(
      await run(['endpoint', 'update', 'shop.berlin', '--name', 'shop', '--dev', '--json']),
    );
    assert.deepEqual([renamed['id'], renamed['name'], renamed['status']], [shop['id'], 'shop', 'paused']);
    assert.equal((await run(['endpoint', 'resume', 'shop'])).code, 0);
    assert.match((await run(['endpoint', 'rotate', 'shop'])).stdout, /^secret\twhsec_/);
    const counted = await run(['endpoint', 'replay', 'shop', '--dry-run']);
    assert.equal(counted.stdout, '0 deliveries would be sent again.\n');
    await run(['endpoint', 'test', 'shop', '--dev']);
    const listed = await run(['delivery', 'list', '--endpoint', 'shop', '--json']);
    assert.deepEqual(
      listOf(JSON.parse(listed.stdout)).map(({ endpoint }) => endpoint),
      [shop['id']],
    );
    assert.equal((await run(['endpoint', 'delete', 'shop', '--yes'])).stdout, 'Endpoint shop deleted.\n');
    const gone = await run(['endpoint', 'show', 'shop']);
    assert.deepEqual([gone.code, gone.stderr], [65, 'chancery: There is no endpoint shop.\n']);
  });

  test('a secret of your own comes from a file or standard input', async (t) => {
    const { run } = await start(t);
    const secret = 'a secret of 24 letters!!';
    const file = join(temporaryFolder(t), 'secret');
    writeFileSync(file, `${secret}\n`);
    const create = ['endpoint', 'create', 'http://127.0.0.1:9/', '--dev', '--secret-file'];
    const shown = await run([...create, file]);
    assert.match(shown.stdout, new RegExp(`^secret\\t${secret}$`, 'm'));
    // The service says what is particular about it.
    assert.match(shown.stderr, /^chancery: .*whsec_/);
    assert.equal(jsonOf(await run([...create, '-', '--json'], { input: secret }))['secret'], secret);
    const onTerminal = await run([...create, '-'], { columns: 80, input: secret });
    assert.ok(onTerminal.stderr.endsWith('Keep the secret: no other command shows it again.\n'));
  });

  test('a test says what was answered, and ends with 1 where it was not taken', async (t) => {
    const { run } = await start(t);
    const receiver = await openReceiver(t, { kind: 'ok' });
    const made = jsonOf(await run(['endpoint', 'create', receiver.url, '--dev', '--json']));
    const ping = ['endpoint', 'test', String(made['id']), '--dev'];
    const taken = await run(ping);
    assert.match(taken.stdout, /^Delivered: 200 in \d+ ms\.\n$/);
    assert.equal(receiver.requests[0]?.headers['x-service-event'], 'ping');
    receiver.mode = { kind: 'status', status: 500 };
    const failed = await run(ping);
    assert.deepEqual([failed.code, failed.stdout], [1, '']);
    assert.match(failed.stderr, /^chancery: The test was not delivered: 500 in \d+ ms\.\n$/);
    const json = await run([...ping, '--json']);
    assert.deepEqual([json.code, json.stderr, jsonOf(json, 1)['status']], [1, '', 'exhausted']);
  });

  test('a test sends a record, with the event that is wanted', async (t) => {
    const { run } = await start(t);
    const receiver = await openReceiver(t, { kind: 'ok' });
    const post = jsonOf(await run(['record', 'create', 'posts', 'title=Hello', '--json']));
    const create = ['endpoint', 'create', receiver.url, '--dev', '--json', '--name', 'shop', '--paused'];
    await run([...create, '--collections', 'posts']);
    const send = ['endpoint', 'test', 'shop', '--dev', '--record'];
    const sent = await run([...send, String(post['id'])]);
    assert.match(sent.stdout, /^Delivered: 200/, sent.stderr);
    const more = ['--collection', 'posts', '--event', 'record.create'];
    assert.match((await run([...send, String(post['id']), ...more])).stdout, /^Delivered: 200/);
    assert.deepEqual(
      receiver.requests.map(({ headers }) => [headers['x-service-test'], headers['x-service-event']]),
      [
        ['true', 'record.update'],
        ['true', 'record.create'],
      ],
    );
    const gone = await run([...send, 'nothing']);
    assert.deepEqual(
      [gone.code, gone.stderr],
      [65, 'chancery: Failed to test endpoint. (recordId: There is no such record.)\n'],
    );
  });

  test('a refusal is one line with what was refused', async (t) => {
    const { run } = await start(t);
    const { id } = jsonOf(await run(['endpoint', 'create', 'http://127.0.0.1:9/', '--dev', '--json']));
    const update = ['update', String(id)];
    const cases: readonly (readonly [code: number, says: RegExp, ...args: readonly string[]])[] = [
      [65, /\(url: /, 'create', 'nowhere', '--dev'],
      [65, /\(events: Must be one or more of record\.create/, ...update, '--events', 'record.made'],
      [65, /\(collections: There is no collection "nope"\.\)/, ...update, '--collections', 'nope'],
      [64, /--header takes a header as "Name: value"/, ...update, '--header', 'secret'],
      [64, /--schedule takes seconds, as "5,60,3600", not "5m"/, ...update, '--schedule', '5m'],
      [64, /--max-in-flight must be a whole number from 1 to 64/, ...update, '--max-in-flight', '65'],
      [64, /There is nothing to change: give an option/, ...update],
      [64, /Allowed choices are drain, newest-first, skip/, 'resume', String(id), '--backlog', 'all'],
      [65, /There is no endpoint nope\./, 'pause', 'nope'],
      [65, /There is no endpoint nope\./, 'replay', 'nope'],
    ];
    for (const [code, says, ...args] of cases) {
      const ended = await run(['endpoint', ...args]);
      assert.match(ended.stderr, says);
      assert.match(ended.stderr, /^chancery: [^\n]+\n$/);
      assert.deepEqual([ended.code, ended.stdout], [code, '']);
    }
  });

  test('a backfill is counted and begun', async (t) => {
    const { run } = await start(t);
    for (const title of ['One', 'Two']) await run(['record', 'create', 'posts', `title=${title}`]);
    const made = jsonOf(
      await run(['endpoint', 'create', 'http://127.0.0.1:9/', '--dev', '--paused', '--json']),
    );
    const backfill = ['endpoint', 'backfill', String(made['id']), '--collection', 'posts'];
    assert.deepEqual(await run([...backfill, '--dry-run']), said('2 records would be sent.\n'));
    const filtered = ['--filter', "title = 'Two'", '--rate', '10'];
    assert.deepEqual(await run([...backfill, ...filtered, '--dry-run']), said('1 record would be sent.\n'));
    const begun = await run([...backfill, ...filtered]);
    assert.match(begun.stdout, /^Backfill \w+ has begun: 1 delivery\.\n$/, begun.stderr);
    const named = ['endpoint', 'backfill', String(made['id']), 'posts', '--dry-run'];
    assert.deepEqual(await run(named), said('2 records would be sent.\n'));
    assert.equal((await run([...named, '--collection', 'posts'])).code, 64);
    assert.equal((await run(['endpoint', 'backfill', String(made['id'])])).code, 64);
    const refused = await run(['endpoint', 'backfill', String(made['id']), '--collection', 'nope']);
    assert.match(refused.stderr, /There is no collection "nope"\./);
    assert.equal(refused.code, 65);
  });

  test('a replay is counted and begun', async (t) => {
    const { run } = await start(t);
    await run(['record', 'create', 'posts', 'title=Before']);
    const made = jsonOf(
      await run(['endpoint', 'create', 'http://127.0.0.1:9/', '--dev', '--paused', '--json']),
    );
    const replay = ['endpoint', 'replay', String(made['id']), '--scope', 'missing'];
    assert.deepEqual(await run([...replay, '--dry-run']), said('1 delivery would be sent again.\n'));
    const counted = await run([...replay, '--dry-run', '--filter', "title = 'After'", '--json']);
    assert.deepEqual(JSON.parse(counted.stdout), { total: 0 });
    const begun = await run(replay);
    assert.match(begun.stdout, /^Replay \w+ has begun: 1 delivery\.\n$/, begun.stderr);
  });
});

test('a replay is waited for, and Ctrl-C ends only the waiting', async (t) => {
  const service = await startWebhookService(t);
  const run = remoteRun(service);
  await service.addPost();
  const { id } = await service.addEndpoint();
  const replay = ['endpoint', 'replay', id, '--scope', 'missing', '--wait'];
  const done = await run(replay, { columns: 80 });
  assert.match(done.stdout, /^Replay \w+ is done: 1 delivered, 0 failed\.\n$/, done.stderr);
  assert.match(done.stderr, /\d of 1 delivered, 0 failed/);
  service.receiver.mode = { kind: 'never answers' };
  const interrupts = new EventEmitter();
  const interrupted = await run(['endpoint', 'replay', id, '--scope', 'all', '--wait'], {
    columns: 80,
    interrupts,
    onQuestion: () => interrupts.emit('SIGINT'),
  });
  assert.equal(interrupted.code, 130);
  assert.match(interrupted.stderr, /chancery: The replay \w+ goes on\.\n$/);
  service.receiver.mode = { kind: 'ok' };
});

async function openReceiver(t: TestContext, mode: ReceiverMode): Promise<Receiver> {
  const receiver = await Receiver.open({ mode });
  t.after(() => receiver.close());
  return receiver;
}

function jsonOf({ code, stdout, stderr }: CommandResult, expected = 0): Readonly<Record<string, unknown>> {
  assert.equal(code, expected, stderr);
  return JSON.parse(stdout);
}

function said(stdout: string): CommandResult {
  return { code: 0, stdout, stderr: '' };
}
