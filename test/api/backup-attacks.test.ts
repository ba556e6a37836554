// Both engines: what a refused restore leaves as it was is stored by each in its own way.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createWriteStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test, type TestContext } from 'node:test';
import { ZipFile } from 'yazl';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { archiveMac, isArchiveMac } from '../../src/secrets/archive-mac.ts';
import { parseMasterKey } from '../../src/secrets/master-key.ts';
import { type Manifest, signedText } from '../../src/transfer/archive/archive-format.ts';
import { Archive } from '../../src/transfer/archive/read-archive.ts';
import { randomKey, readParts } from '../archives/archive-stage.ts';
import { Random } from '../faults/random.ts';
import { formOf, formType } from '../support/file-stage.ts';
import { issueSuperuserToken } from '../support/issue-superuser-token.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { masterKey } from '../support/test-config.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

interface Stage {
  readonly service: WebhookService;
  /** A backup of the instance, which has one record. */
  readonly file: string;
  /** Stores an archive as a superuser does, and restores it. Returns what that is answered. */
  readonly restore: (
    content: Uint8Array<ArrayBuffer>,
  ) => Promise<{ readonly status: number; readonly message: string }>;
  /** Everything that a refused restore must leave as it was. */
  readonly state: () => Promise<unknown>;
}

async function startStage(t: TestContext): Promise<Stage> {
  const service = await startWebhookService(t);
  await service.addPost('kept');
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  const file = join(temporaryFolder(t), 'one.zip');
  writeFileSync(file, await download(service, 'one.zip'));
  await service.addPost('later');
  let count = 0;
  return {
    service,
    file,
    restore: async (content) => {
      const name = `changed${(count += 1)}.zip`;
      await upload(service, name, content);
      const path = `/api/backups/${name}/restore`;
      const { status, json } = await service.request(path, { method: 'POST', token: true });
      await service.call('DELETE', `/api/backups/${name}`, { status: 204 });
      return { status, message: json?.message };
    },
    state: async () => {
      const { items } = await service.call('GET', '/api/collections/posts/records?sort=created');
      const rows = await service.app.data.directory.list();
      return { items, rows: rows.map(({ id, slug, state }) => ({ id, slug, state })) };
    },
  };
}

async function download(service: WebhookService, name: string, at = ''): Promise<Buffer<ArrayBuffer>> {
  const headers = { authorization: service.superuser.token };
  const answer = await fetch(`${service.url}${at}/api/backups/${name}`, { headers });
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

async function upload(
  service: WebhookService,
  name: string,
  content: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const headers = { authorization: service.superuser.token, 'content-type': formType };
  const body = formOf([['file', content, name]]);
  const answer = await fetch(`${service.url}/api/backups/upload`, { method: 'POST', headers, body });
  assert.equal(answer.status, 204, await answer.text());
}

/** Writes an archive of these parts. */
async function zipOf(t: TestContext, parts: ReadonlyMap<string, string>): Promise<Buffer<ArrayBuffer>> {
  const zip = new ZipFile();
  for (const [name, content] of parts) zip.addBuffer(Buffer.from(content, 'latin1'), name);
  zip.end();
  const path = join(temporaryFolder(t), 'changed.zip');
  // The types of yazl know it as the interface of readable streams.
  await pipeline(zip.outputStream as Readable, createWriteStream(path));
  return readFileSync(path);
}

function digestOf(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'latin1')).digest('hex');
}

/** Changes a part, with all digests that follow from it. */
function alter(parts: Map<string, string>, name: string, change: (text: string) => string): void {
  const before = parts.get(name) ?? '';
  const after = change(before);
  assert.notEqual(after, before);
  parts.set(name, after);
  const list = parts.get('parts.ndjson') ?? '';
  const changed = list.replace(digestOf(before), digestOf(after));
  parts.set('parts.ndjson', changed);
  changeManifest(parts, (manifest) => ({ ...manifest, parts: digestOf(changed) }));
}

function changeManifest(parts: Map<string, string>, change: (manifest: Manifest) => Manifest): void {
  const text = Buffer.from(parts.get('manifest.json') ?? '', 'latin1').toString('utf8');
  // The product has written it.
  const manifest = change(JSON.parse(text) as Manifest);
  parts.set('manifest.json', Buffer.from(JSON.stringify(manifest), 'utf8').toString('latin1'));
}

/** What an archive says, or why it does not. */
async function contentOf(path: string): Promise<string> {
  const parts: string[] = [];
  try {
    const archive = await Archive.open(path);
    try {
      await archive.read({
        rows: async (_part, pieces) => {
          for await (const rows of pieces)
            parts.push(
              JSON.stringify(rows, (_key, value: unknown) =>
                typeof value === 'bigint' ? String(value) : value,
              ),
            );
        },
        file: async (_part, content) => {
          for await (const piece of content) parts.push(piece.toString('hex'));
        },
        whole: ({ name, sha256 }) => void parts.push(`${name} ${sha256}`),
      });
      const text = signedText(archive.manifest);
      if (!isArchiveMac(parseMasterKey(masterKey, 'the key'), text, archive.manifest.mac))
        return 'refused: The archive cannot be used: its MAC is another one.';
      return `${text} ${parts.join('\n')}`;
    } finally {
      archive.close();
    }
  } catch (error) {
    assert.ok(error instanceof Error);
    return `refused: ${error.message}`;
  }
}

test('an uploaded archive with an altered byte of its content is refused in words, and changes nothing', async (t) => {
  const { restore, state, file } = await startStage(t);
  const before = await state();
  const content = readFileSync(file);
  for (const name of ['manifest.json', 'parts.ndjson', 'records/posts.ndjson']) {
    // Its header has 30 bytes and the name; the content follows.
    const begin = content.indexOf(name) + name.length + 20;
    const changed = Buffer.from(content);
    changed.writeUInt8(content.readUInt8(begin) ^ 0x04, begin);
    const { status, message } = await restore(changed);
    assert.deepEqual([status, message.startsWith('The archive cannot be used: ')], [400, true], message);
  }
  assert.deepEqual(await state(), before);
});

test('an archive with any one byte altered is refused in words, or says the same', async (t) => {
  const { file } = await startStage(t);
  const expected = await contentOf(file);
  assert.match(expected, /kept/);
  const content = readFileSync(file);
  const path = join(temporaryFolder(t), 'altered.zip');
  let refused = 0;
  for (let at = 0; at < content.length; at += 23) {
    const changed = Buffer.from(content);
    changed.writeUInt8(content.readUInt8(at) ^ 0x10, at);
    writeFileSync(path, changed);
    const found = await contentOf(path);
    if (found === expected) continue;
    assert.match(found, /^refused: The archive cannot be used: [^\n]+$/, `byte ${at}`);
    refused += 1;
  }
  assert.ok(refused > content.length / 23 / 2, `${refused} of ${content.length / 23}`);
});

test('an archive that was rewritten with right digests is refused without the MAC of this service', async (t) => {
  const { restore, state, file } = await startStage(t);
  const before = await state();
  const parts = await readParts(file);
  alter(parts, 'records/posts.ndjson', (text) => text.replace('kept', 'evil'));
  const refusal = {
    status: 400,
    message: 'The archive cannot be used: it was not made by this service, or was altered.',
  };
  assert.deepEqual(await restore(await zipOf(t, parts)), refusal);
  changeManifest(parts, (manifest) => ({ ...manifest, mac: '' }));
  assert.deepEqual(await restore(await zipOf(t, parts)), refusal);
  const otherKey = parseMasterKey(randomKey(), 'the key');
  changeManifest(parts, (manifest) => ({ ...manifest, mac: archiveMac(otherKey, signedText(manifest)) }));
  assert.deepEqual(await restore(await zipOf(t, parts)), refusal);
  assert.deepEqual(await state(), before);
});

test('an archive of another instance of the same service is refused, and changes neither', async (t) => {
  const { service, restore, state } = await startStage(t);
  await service.app.data.directory.create('other', null);
  const { email } = service.superuser;
  const token = await service.withInstance('other', async (instance) => {
    await upsertSuperuser(instance, email, 'correct horse battery');
    return issueSuperuserToken(instance, email);
  });
  const body = { name: 'theirs.zip' };
  const created = await service.request('/i/other/api/backups', { method: 'POST', token, body });
  assert.equal(created.status, 204, created.text);
  const answer = await fetch(`${service.url}/i/other/api/backups/theirs.zip`, {
    headers: { authorization: token },
  });
  const theirs = Buffer.from(await answer.arrayBuffer());
  const before = await state();
  assert.deepEqual(await restore(theirs), {
    status: 400,
    message:
      'The archive cannot be used: it is of another instance. The operator can import it beside this one.',
  });
  assert.deepEqual(await state(), before);
});

test('an archive of another service with the same master key is refused', async (t) => {
  const { restore, state } = await startStage(t);
  const other = await startStage(t);
  const before = await state();
  const { status, message } = await restore(readFileSync(other.file));
  assert.equal(status, 400);
  assert.match(message, /^The archive cannot be used: it is of another instance\./);
  assert.deepEqual(await state(), before);
});

test('a zip bomb is refused before it is unpacked', async (t) => {
  const { service, restore, state, file } = await startStage(t);
  const before = await state();
  const parts = await readParts(file);
  const zeros = '\0'.repeat(128 * 1024 * 1024);
  for (const name of ['manifest.json', 'parts.ndjson']) {
    const { status, message } = await restore(await zipOf(t, new Map([...parts, [name, zeros]])));
    assert.deepEqual([status, message.startsWith('The archive cannot be used: ')], [400, true], message);
  }
  assert.deepEqual(await state(), before);
  assert.deepEqual(readdirSync(join(service.data, 'backups', '.partial')), []);
});

test('an archive that is cut anywhere, or has something behind its end, is refused in words, or says the same', async (t) => {
  const { file } = await startStage(t);
  const expected = await contentOf(file);
  const content = readFileSync(file);
  const path = join(temporaryFolder(t), 'cut.zip');
  const random = new Random(7);
  for (let round = 0; round < 150; round += 1) {
    const length = random.integer(0, content.length - 1);
    writeFileSync(path, content.subarray(0, length));
    assert.match(await contentOf(path), /^refused: The archive cannot be used: [^\n]+$/, `${length} bytes`);
  }
  for (const more of [Buffer.from('x'), Buffer.alloc(70_000), content]) {
    writeFileSync(path, Buffer.concat([content, more]));
    const found = await contentOf(path);
    if (found !== expected) assert.match(found, /^refused: The archive cannot be used: [^\n]+$/);
  }
});

test('an archive with a part twice, in a part, or in place of another is refused, and changes nothing', async (t) => {
  const { restore, state, file } = await startStage(t);
  const before = await state();
  const parts = await readParts(file);
  const posts = parts.get('records/posts.ndjson') ?? '';
  const evil = posts.replace('kept', 'evil');
  // The second of the same name, whichever a reader takes.
  const placeholder = 'records/postz.ndjson';
  const twice = await zipOf(t, new Map([...parts, [placeholder, evil]]));
  const renamed = Buffer.from(
    twice.toString('latin1').replaceAll(placeholder, 'records/posts.ndjson'),
    'latin1',
  );
  const inside = await zipOf(t, new Map([...parts, ['files/a/b/c', readFileSync(file).toString('latin1')]]));
  const exchanged = new Map([...parts, ['records/posts.ndjson', parts.get('tables/event.ndjson') ?? '']]);
  for (const [what, content] of [
    ['twice', renamed],
    ['inside', inside],
    ['exchanged', await zipOf(t, exchanged)],
    ['only the rest', await zipOf(t, new Map([...parts].slice(1)))],
    ['nothing', await zipOf(t, new Map())],
  ] as const) {
    const { status, message } = await restore(content);
    assert.deepEqual(
      [status, message.startsWith('The archive cannot be used: ')],
      [400, true],
      `${what}: ${message}`,
    );
  }
  assert.deepEqual(await state(), before);
});

test('a file token of another instance, of a user, or an expired one downloads no backup', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  await service.app.data.directory.create('other', null);
  const { email } = service.superuser;
  const other = await service.withInstance('other', async (instance) => {
    await upsertSuperuser(instance, email, 'correct horse battery');
    return issueSuperuserToken(instance, email);
  });
  const download = async (token: string): Promise<number> =>
    (await fetch(`${service.url}/api/backups/one.zip?${new URLSearchParams({ token }).toString()}`)).status;
  const own = String((await service.call('POST', '/api/files/token')).token);
  const theirs = await service.request('/i/other/api/files/token', { method: 'POST', token: other });
  assert.equal(theirs.status, 200);
  assert.equal(await download(own), 200);
  for (const token of [theirs.json.token, other, service.superuser.token, `${own}x`, own.slice(0, -1), ''])
    assert.equal(await download(String(token)), 403);
  clock.move(3_600_000);
  assert.equal(await download(own), 403);
});
