import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type SignatureVector, signatureVectors as vectors } from './support/signature-vectors.ts';
import { temporaryTree } from './support/temporary-tree.ts';
import { verifyPrograms } from './support/verify-programs.ts';

/** What a documented verifier is asked, and what it must say. */
interface Case {
  readonly name: string;
  readonly isGenuine: boolean;
  readonly secret: string;
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  readonly nowSeconds: number;
}

const folderOfVerifiers = fileURLToPath(new URL('../docs/verify', import.meta.url));
const root = fileURLToPath(new URL('..', import.meta.url));
/** Crates are compiled once, and nothing greets whoever runs .NET for the first time. */
const environment = {
  CARGO_TARGET_DIR: join(root, 'node_modules', '.cache', 'verify-rust'),
  DOTNET_NOLOGO: '1',
  DOTNET_CLI_TELEMETRY_OPTOUT: '1',
};
const cases = vectors.flatMap((vector) => vector.secrets.flatMap((secret) => casesOf(vector, secret)));
/** One with a secret that we made, one with a secret of the owner's. */
const casesOfTwo = vectors.slice(0, 2).flatMap((vector) => casesOf(vector, vector.secrets[0] ?? ''));

for (const { language, verifier, present, files, commands, isSlow } of verifyPrograms) {
  test(`the verifier for ${language} tells genuine requests from others`, (t) => {
    const text = readFileSync(join(folderOfVerifiers, verifier), 'utf8');
    const chosen = isSlow === true ? casesOfTwo : cases;
    const lines = chosen.map(lineOf).join('');
    const folder = temporaryTree(t, { [verifier]: text, 'cases.txt': lines, ...files });
    const missing = present.find((command) => run(folder, command).status !== 0);
    if (missing !== undefined) return t.skip(`not run: ${missing.join(' ')} does not succeed here`);
    let output = '';
    for (const command of commands) {
      const ended = run(folder, command, environment);
      assert.equal(ended.status, 0, `${command.join(' ')}: ${ended.stderr}${ended.stdout}`);
      output = ended.stdout;
    }
    assertVerdicts(chosen, output.trim().split('\n'));
  });
}

test('every verifier is run by a test and named on the page', () => {
  const page = readFileSync(join(folderOfVerifiers, 'README.md'), 'utf8');
  const verifiers = readdirSync(folderOfVerifiers).filter((name) => name !== 'README.md');
  const ran = verifyPrograms.map(({ verifier }) => verifier);
  assert.deepEqual(verifiers.toSorted(), ran.toSorted());
  for (const name of verifiers) assert.ok(page.includes(`(${name})`), name);
});

test('the documented command for the body alone prints the signature of the header', (t) => {
  const page = readFileSync(join(folderOfVerifiers, '..', 'webhooks-verify.md'), 'utf8');
  const [, command = ''] = /^```sh body-signature\.sh\n(.*?)^```$/ms.exec(page) ?? [];
  assert.notEqual(command, '', 'docs/webhooks-verify.md has no block named body-signature.sh');
  if (run('.', ['openssl', 'version']).status !== 0) return t.skip('openssl is not installed here');
  for (const { secrets, body, serviceSignatures } of vectors) {
    const folder = temporaryTree(t, { body });
    const ended = run(folder, ['sh', '-c', command], { SECRET: secrets[0] ?? '', BODY_FILE: 'body' });
    assert.equal(ended.stdout.trim(), serviceSignatures[0]);
  }
});

function casesOf(vector: SignatureVector, secret: string): Case[] {
  const now = vector.timestampSeconds;
  const genuine: Case = {
    name: vector.name,
    isGenuine: true,
    secret,
    id: vector.id,
    timestamp: String(now),
    signature: vector.webhookSignature,
    body: vector.body,
    nowSeconds: now,
  };
  const accepted = (name: string, changes: Partial<Case>): Case => ({
    ...genuine,
    ...changes,
    name: `${vector.name}: ${name}`,
  });
  const refused = (name: string, changes: Partial<Case>): Case => ({
    ...accepted(name, changes),
    isGenuine: false,
  });
  // Whoever knows that a secret is not set can sign with it, and with any text as the time.
  const signed = (by: string, timestamp: string): string => {
    const content = `${vector.id}.${timestamp}.${vector.body}`;
    const key = by.startsWith('whsec_') ? Buffer.from(by.slice('whsec_'.length), 'base64') : by;
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  };
  return [
    genuine,
    accepted('five minutes late', { nowSeconds: now + 300 }),
    accepted('beside another entry', { signature: `v1,AAAA ${vector.webhookSignature}` }),
    refused('a tampered body', { body: `${vector.body} ` }),
    refused('an old timestamp', { nowSeconds: now + 301 }),
    refused('a timestamp of the future', {
      timestamp: String(now + 301),
      signature: signed(secret, String(now + 301)),
    }),
    refused('another timestamp', { timestamp: String(now + 1) }),
    refused('another id', { id: `${vector.id}x` }),
    refused('another secret', { secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' }),
    ...['', 'whsec_'].map((unset) =>
      refused('a secret that is not set', { secret: unset, signature: signed(unset, String(now)) }),
    ),
    ...['', 'soon', '-1', '1e9', '٣', 'a[$(touch run)]'].map((timestamp) =>
      refused(`the timestamp ${timestamp}`, { timestamp, signature: signed(secret, timestamp) }),
    ),
    refused('no signature', { signature: '' }),
    refused('a signature that is not ASCII', { signature: 'v1,ÄÖÜ 🌍' }),
    refused('an entry of another version', { signature: vector.webhookSignature.replaceAll('v1,', 'v2,') }),
    refused('an entry without a version', { signature: vector.webhookSignature.replaceAll('v1,', '') }),
    refused('an entry that is cut short', { signature: vector.webhookSignature.slice(0, 20) }),
    refused('the signature of the body alone', { signature: vector.serviceSignatures.join(' ') }),
  ];
}

/** Base64, as every language can read it and nothing in a value is taken for a separator. */
function lineOf({ secret, id, timestamp, signature, body, nowSeconds }: Case): string {
  const values = [secret, id, timestamp, signature, body, String(nowSeconds)];
  return `${values.map((value) => Buffer.from(value).toString('base64')).join('\t')}\n`;
}

function assertVerdicts(cases: readonly Case[], verdicts: readonly string[]): void {
  assert.equal(verdicts.length, cases.length);
  const wrong = cases.filter((one, index) => verdicts[index] !== (one.isGenuine ? '1' : '0'));
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  );
}

function run(folder: string, [command = '', ...options]: readonly string[], variables = {}) {
  const executable = command === 'node' ? process.execPath : command;
  const env = { ...process.env, ...variables };
  return spawnSync(executable, options, { cwd: folder, encoding: 'utf8', env });
}
