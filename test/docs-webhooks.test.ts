import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { type SignatureVector, signatureVectors as vectors } from './support/signature-vectors.ts';
import { temporaryTree } from './support/temporary-tree.ts';

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

const page = readFileSync(new URL('../docs/webhooks.md', import.meta.url), 'utf8');
const cases = vectors.flatMap((vector) => vector.secrets.flatMap((secret) => casesOf(vector, secret)));

test('the documented verifier for Node tells genuine requests from others', (t) => {
  const harness = `
    import { readFileSync } from 'node:fs';
    import { isGenuine } from './verifier.mjs';
    const cases = JSON.parse(readFileSync('cases.json', 'utf8'));
    console.log(JSON.stringify(cases.map((one) => isGenuine({ ...one, body: Buffer.from(one.body) }))));`;
  const folder = folderWith(t, 'verifier.mjs', { 'harness.mjs': harness });
  assertVerdicts(run(process.execPath, ['harness.mjs'], { folder }));
});

test('the documented verifier for Python tells genuine requests from others', (t) => {
  if (!isPresent('python3', ['--version'])) return t.skip('python3 is not installed here');
  const harness = [
    'import json',
    'from verifier import is_genuine',
    'cases = json.load(open("cases.json", encoding="utf-8"))',
    'print(json.dumps([is_genuine(c["secret"], c["id"], c["timestamp"], c["signature"], c["body"].encode(),',
    '                             c["nowSeconds"]) for c in cases]))',
  ].join('\n');
  const folder = folderWith(t, 'verifier.py', { 'harness.py': harness });
  assertVerdicts(run('python3', ['harness.py'], { folder }));
});

test('the documented verifier for Go tells genuine requests from others', (t) => {
  if (!isPresent('go', ['version'])) return t.skip('go is not installed here');
  const harness = `package main
    import ("encoding/json"; "fmt"; "os")
    type one struct { Secret, Id, Timestamp, Signature, Body string; NowSeconds int64 }
    func main() {
      text, _ := os.ReadFile("cases.json")
      var cases []one
      if err := json.Unmarshal(text, &cases); err != nil { panic(err) }
      verdicts := []bool{}
      for _, c := range cases {
        verdicts = append(verdicts, IsGenuine(c.Secret, c.Id, c.Timestamp, c.Signature, []byte(c.Body), c.NowSeconds))
      }
      out, _ := json.Marshal(verdicts)
      fmt.Println(string(out))
    }`;
  const folder = folderWith(t, 'verifier.go', { 'harness.go': harness });
  assertVerdicts(run('go', ['run', 'harness.go', 'verifier.go'], { folder }));
});

test('the documented verifier for the shell tells genuine requests from others', (t) => {
  if (!isPresent('openssl', ['version'])) return t.skip('openssl is not installed here');
  const bodies = Object.fromEntries(cases.map((one, index) => [`body-${index}`, one.body]));
  const folder = folderWith(t, 'verifier.sh', bodies);
  const verdicts = cases.map((one, index) => {
    const script = '. ./verifier.sh; if is_genuine; then echo true; else echo false; fi';
    const environment = {
      SECRET: one.secret,
      WEBHOOK_ID: one.id,
      WEBHOOK_TIMESTAMP: one.timestamp,
      WEBHOOK_SIGNATURE: one.signature,
      NOW_SECONDS: String(one.nowSeconds),
      BODY_FILE: `body-${index}`,
    };
    return run('sh', ['-c', script], { folder, environment }).trim();
  });
  assertVerdicts(`[${verdicts.join(',')}]`);
});

test('the documented command for the body alone prints the signature of the header', (t) => {
  if (!isPresent('openssl', ['version'])) return t.skip('openssl is not installed here');
  for (const { secrets, body, serviceSignatures } of vectors) {
    const folder = folderWith(t, 'body-signature.sh', { body });
    const environment = { SECRET: secrets[0] ?? '', BODY_FILE: 'body' };
    assert.equal(run('sh', ['body-signature.sh'], { folder, environment }).trim(), serviceSignatures[0]);
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
  const refused = (name: string, changes: Partial<Case>): Case => ({
    ...genuine,
    ...changes,
    name: `${vector.name}: ${name}`,
    isGenuine: false,
  });
  return [
    genuine,
    { ...genuine, name: `${vector.name}: five minutes late`, nowSeconds: now + 300 },
    {
      ...genuine,
      name: `${vector.name}: beside another entry`,
      signature: `v1,AAAA ${vector.webhookSignature}`,
    },
    refused('a tampered body', { body: `${vector.body} ` }),
    refused('an old timestamp', { nowSeconds: now + 301 }),
    refused('a timestamp of the future', { nowSeconds: now - 301 }),
    refused('another timestamp', { timestamp: String(now + 1) }),
    refused('another id', { id: `${vector.id}x` }),
    refused('another secret', { secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' }),
    refused('no signature', { signature: '' }),
    refused('an entry of another version', { signature: vector.webhookSignature.replaceAll('v1,', 'v2,') }),
    refused('an entry that is cut short', { signature: vector.webhookSignature.slice(0, 20) }),
  ];
}

/** A folder with one block of the page, the cases, and what is needed to run it. */
function folderWith(t: TestContext, blockName: string, tree: Readonly<Record<string, string>>): string {
  return temporaryTree(t, { [blockName]: block(blockName), 'cases.json': JSON.stringify(cases), ...tree });
}

/** The text of the code block whose opening line ends with this file name. */
function block(name: string): string {
  const [, text] = new RegExp(`^\`\`\`\\w+ ${RegExp.escape(name)}\n(.*?)^\`\`\`$`, 'ms').exec(page) ?? [];
  assert.ok(text, `docs/webhooks.md has no block named ${name}`);
  return text;
}

function assertVerdicts(output: string): void {
  const verdicts: unknown = JSON.parse(output);
  assert.ok(Array.isArray(verdicts) && verdicts.length === cases.length);
  const wrong = cases.filter((one, index) => verdicts[index] !== one.isGenuine).map(({ name }) => name);
  assert.deepEqual(wrong, []);
}

function isPresent(command: string, options: readonly string[]): boolean {
  return spawnSync(command, options).status === 0;
}

interface Place {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** What the command prints. */
function run(command: string, options: readonly string[], place: Place): string {
  const environment = { ...process.env, ...place.environment };
  const ended = spawnSync(command, options, { cwd: place.folder, encoding: 'utf8', env: environment });
  assert.equal(ended.status, 0, `${command}: ${ended.stderr}`);
  return ended.stdout;
}
