import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import {
  keyCheckValue,
  loadMasterKey,
  type MasterKeySource,
  parseMasterKey,
  requireKeyCheckValue,
  SecretError,
} from './master-key.ts';

const bytes = Buffer.from('00ff10ef20df30cf40bf50af609f708f8080907fa06fb05fc04fd03fe02ff01f', 'hex');
const hex = bytes.toString('hex');
const padded = bytes.toString('base64');

const forms: readonly (readonly [name: string, text: string])[] = [
  ['hex', hex],
  ['hex in capitals', hex.toUpperCase()],
  ['base64', padded],
  ['base64 without padding', padded.replace('=', '')],
  ['base64url', bytes.toString('base64url')],
  ['base64url with padding', `${bytes.toString('base64url')}=`],
  ['a text with a line end', `${hex}\n`],
];

for (const [name, text] of forms) {
  test(`reads a key as ${name}`, () => {
    assert.deepEqual(parseMasterKey(text, 'The key').export(), bytes);
  });
}

const weak: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ['nothing', '', /The key is not 32 bytes/],
  ['a pass phrase', 'correct horse battery staple', /not 32 bytes/],
  ['31 bytes', hex.slice(2), /not 32 bytes/],
  ['33 bytes', `${hex}00`, /not 32 bytes/],
  ['an odd number of hex digits', hex.slice(1), /not 32 bytes/],
  ['a mixture of both base64 alphabets', `+_${'aZ09'.repeat(10)}A`, /not 32 bytes/],
  ['base64 with spare bits', `${padded.slice(0, 42)}9=`, /not 32 bytes/],
  ['two words', `${hex} ${hex}`, /not 32 bytes/],
  ['zeroes', '0'.repeat(64), /not random/],
  ['one byte repeated', 'ab'.repeat(32), /not random/],
  ['four bytes repeated', 'deadbeef'.repeat(8), /not random/],
  ['eight bytes repeated', '0123456789abcdef'.repeat(4), /not random/],
  ['sixteen bytes repeated', hex.slice(0, 32).repeat(2), /not random/],
  ['eleven characters repeated', `${'5d0f3ae8c71'.repeat(5)}5d0f3ae8c`, /not random/],
  ['bytes that count up', Buffer.from([...bytes.keys()]).toString('hex'), /not random/],
  [
    'bytes that count down by three',
    Buffer.from(bytes.map((_, n) => 256 - 3 * n)).toString('base64'),
    /not random/,
  ],
  [
    'letters that count up, and digits',
    Buffer.from('abcdefghijklmnopqrstuvwxyz012345').toString('hex'),
    /not random/,
  ],
  ['characters that count up', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopo', /not random/],
];

for (const [name, text, message] of weak) {
  test(`refuses ${name} as a key and does not repeat it`, () => {
    assert.throws(
      () => parseMasterKey(text, 'The key'),
      (error) => {
        assert.ok(error instanceof SecretError);
        assert.match(error.message, message);
        assert.ok(text === '' || !error.message.includes(text));
        return true;
      },
    );
  });
}

test('a generated key is accepted', () => {
  for (let n = 0; n < 2_000; n += 1)
    for (const encoding of ['hex', 'base64url'] as const)
      parseMasterKey(randomBytes(32).toString(encoding), 'The key');
});

test('shows nothing of itself when it is printed', () => {
  const key = parseMasterKey(hex, 'The key');
  const shown = `${inspect(key, { depth: 9, showHidden: true })} ${JSON.stringify({ key })}`;
  assert.doesNotMatch(shown, /00ff10|0, 255, 16|00 ff 10/);
});

test('makes a key on the first start, for its owner only, and finds it on the second', async (t) => {
  const directory = temporaryDirectory(t);
  const first = await loadMasterKey(source(directory));
  assert.deepEqual(readdirSync(directory), ['master.key'], 'no temporary file may stay');
  assert.equal(statSync(join(directory, 'master.key')).mode & 0o777, 0o600);
  const second = await loadMasterKey(source(directory, { mayCreate: false }));
  assert.ok(first.equals(second));
});

test('processes that start at once load the same key', async (t) => {
  const directory = temporaryDirectory(t);
  const keys = await Promise.all(Array.from({ length: 20 }, () => loadMasterKey(source(directory))));
  for (const key of keys) assert.ok(key.equals(keys[0]!));
  assert.deepEqual(readdirSync(directory), ['master.key']);
});

test('makes no second key beside data whose key was lost', async (t) => {
  const directory = temporaryDirectory(t);
  await assert.rejects(
    loadMasterKey(source(directory, { mayCreate: false })),
    isSecretError(/master\.key is missing/),
  );
  assert.deepEqual(readdirSync(directory), []);
});

test('never replaces a key file, not even a damaged one', async (t) => {
  const directory = temporaryDirectory(t);
  const path = writeKey(directory, 'master.key', 'damaged');
  await assert.rejects(loadMasterKey(source(directory)), isSecretError(/master\.key is not 32 bytes/));
  assert.equal(readFileSync(path, 'utf8'), 'damaged');
});

test('prefers the text to the data directory, and creates nothing then', async (t) => {
  const directory = temporaryDirectory(t);
  const key = await loadMasterKey(source(directory, { text: hex }));
  assert.deepEqual(key.export(), bytes);
  assert.deepEqual(readdirSync(directory), []);
  await assert.rejects(loadMasterKey(source(directory, { text: '' })), isSecretError(/not 32 bytes/));
});

test('a key file that is named is read, and never created', async (t) => {
  const directory = temporaryDirectory(t);
  const file = writeKey(directory, 'my.key', `${padded}\n`);
  assert.deepEqual((await loadMasterKey(source(directory, { file }))).export(), bytes);
  await assert.rejects(
    loadMasterKey(source(directory, { file: `${file}2` })),
    isSecretError(/does not exist/),
  );
  await assert.rejects(loadMasterKey(source(directory, { file: directory })), isSecretError(/is not a file/));
  await assert.rejects(
    loadMasterKey(source(directory, { file, text: hex })),
    isSecretError(/set only one of them/),
  );
  assert.deepEqual(readdirSync(directory), ['my.key']);
});

for (const mode of [0o640, 0o604, 0o620, 0o601, 0o666]) {
  test(`refuses a key file of mode ${mode.toString(8)}`, async (t) => {
    const directory = temporaryDirectory(t);
    const file = writeKey(directory, 'master.key', hex);
    chmodSync(file, mode);
    await assert.rejects(loadMasterKey(source(directory)), isSecretError(/chmod 600/));
    await assert.rejects(loadMasterKey(source(directory, { file })), isSecretError(/chmod 600/));
    chmodSync(file, 0o400);
    assert.deepEqual((await loadMasterKey(source(directory))).export(), bytes);
  });
}

test('refuses a key file that is far too large', async (t) => {
  const directory = temporaryDirectory(t);
  writeKey(directory, 'master.key', hex.repeat(1000));
  await assert.rejects(loadMasterKey(source(directory)), isSecretError(/too large/));
});

test('recognises its check value and refuses every other', () => {
  const key = parseMasterKey(hex, 'The key');
  const other = parseMasterKey(randomBytes(32).toString('hex'), 'The key');
  const stored = keyCheckValue(key);
  assert.equal(stored, keyCheckValue(parseMasterKey(padded, 'The key')));
  assert.doesNotThrow(() => requireKeyCheckValue(key, stored));
  for (const wrong of ['', 'é', stored.slice(1), `${stored}x`, keyCheckValue(other)]) {
    assert.throws(
      () => requireKeyCheckValue(key, wrong),
      isSecretError(/not the one this data was sealed with/),
    );
  }
});

function source(dataDirectory: string, given: Partial<MasterKeySource> = {}): MasterKeySource {
  return { text: undefined, file: undefined, mayCreate: true, dataDirectory, ...given };
}

function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'master-key-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

function writeKey(directory: string, name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

function isSecretError(message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof SecretError && message.test(error.message);
}
