import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import openapi from '../spec/openapi.json' with { type: 'json' };
import packageJson from '../package.json' with { type: 'json' };
import { allOptions } from '../src/config/config-flags.ts';
import { typedClient } from '../src/definitions/typed-client.ts';
import { typedWebhooks } from '../src/definitions/typed-webhooks.ts';
import { root } from '../tools/build/root.ts';
import { run } from '../tools/build/run.ts';
import { type DocBlock, placeOf, readDocBlocks } from './support/doc-blocks.ts';
import { installKit } from './support/install-kit.ts';
import { runInProcess } from './support/run-in-process.ts';
import { temporaryTree } from './support/temporary-tree.ts';

/** Tests that do what the blocks of a page say, by page and languages. Each reads the page. */
const followed: readonly (readonly [page: string, languages: string, test: string])[] = [
  ['README.md', 'console js', 'test/shipping/readme.test.ts'],
  ['kit/README.md', 'ts', 'test/kit-package.test.ts'],
  ['docs/accounts.md', 'http', 'test/api/docs-accounts.test.ts'],
  ['docs/adding.md', 'diff', 'test/guide.test.ts'],
  ['docs/adding-screens.md', 'diff', 'test/guide.test.ts'],
  ['docs/clients.md', 'ts go', 'test/docs-clients.test.ts'],
  ['docs/collections.md', 'http', 'test/api/docs-collections.test.ts'],
  ['docs/command-line.md', 'console', 'test/docs-command-line.test.ts'],
  ['docs/fields.md', 'json', 'test/api/docs-fields.test.ts'],
  ['docs/files.md', 'http', 'test/api/docs-files.test.ts'],
  ['docs/getting-started.md', 'console js', 'test/docs-getting-started.test.ts'],
  ['docs/importing.md', 'text', 'test/api/docs-importing.test.ts'],
  ['docs/list-costs.md', 'http', 'test/api/docs-lists.test.ts'],
  ['docs/lists.md', 'http', 'test/api/docs-lists.test.ts'],
  ['docs/mirrors.md', 'console js', 'test/shipping/readme.test.ts'],
  ['docs/mirrors.md', 'http sql', 'test/api/docs-mirrors.test.ts'],
  ['docs/realtime.md', 'http', 'test/api/docs-realtime.test.ts'],
  ['docs/record-history.md', 'http', 'test/docs-records.test.ts'],
  ['docs/records.md', 'http', 'test/docs-records.test.ts'],
  ['docs/rules.md', 'http', 'test/api/docs-rules.test.ts'],
  ['docs/views.md', 'http', 'test/api/docs-views.test.ts'],
  ['docs/webhooks-choose.md', 'http', 'test/api/docs-webhooks.test.ts'],
  ['docs/webhooks-operate.md', 'http', 'test/api/docs-webhooks.test.ts'],
  ['docs/webhooks-reference.md', 'http', 'test/api/docs-webhooks.test.ts'],
  ['docs/webhooks-verify.md', 'http', 'test/api/docs-webhooks.test.ts'],
];

/** Blocks that no test follows or checks, by what they begin with, each with its reason. */
const exempt: readonly (readonly [page: string, begin: string, reason: string])[] = [
  ['ARCHITECTURE.md', ' ', 'a drawing'],
  ['docs/collections.md', 'CREATE [UNIQUE]', 'a grammar'],
  ['docs/command-line-tools.md', 'ok       headers', 'an output whose parts test/api/cli-verify.test.ts has'],
  ['docs/command-line-tools.md', 'Listening to', 'an output whose parts test/api/cli-listen.test.ts has'],
  [
    'docs/command-line-tools.md',
    'ok       node',
    'an output of one machine; test/api/cli-doctor.test.ts has its parts',
  ],
  ['docs/filters.md', 'GET /api/collections/books', 'a query that is shown before it is encoded'],
  ['docs/production.md', 'CHANCERY_BACKUP_TO', 'settings of a unit, which test/api/cli-config.test.ts has'],
  ['docs/realtime.md', 'id:', 'messages that test/api/docs-realtime.test.ts compares with real ones'],
  [
    'docs/webhooks-customers.md',
    'PATCH /api/collections/users',
    'a request without the rest of its page; test/api/account-endpoints.test.ts makes it',
  ],
  [
    'examples/embed/README.md',
    'Chancery runs',
    'an output whose order depends on time; test/process/start.test.ts has its parts',
  ],
];

type Check = 'followed' | 'exempt' | 'code' | 'json' | 'shell' | 'http' | 'configuration';

const checksByLanguage: Readonly<Record<string, Check>> = {
  js: 'code',
  ts: 'code',
  json: 'json',
  sh: 'shell',
  http: 'http',
  toml: 'configuration',
  yaml: 'configuration',
};

const blocks = readDocBlocks();
const blocksFor = (check: Check): readonly DocBlock[] => blocks.filter((block) => checkOf(block) === check);

function checkOf({ page, language, text }: DocBlock): Check | undefined {
  const [name = ''] = language.split(' ');
  if (followed.some(([of, languages]) => of === page && languages.split(' ').includes(name)))
    return 'followed';
  if (name !== '') return checksByLanguage[name];
  return exempt.some(([of, begin]) => of === page && text.startsWith(begin)) ? 'exempt' : undefined;
}

test('every block of a page is followed or checked by a test, or is exempt for a reason', () => {
  assert.ok(blocks.length > 200, String(blocks.length));
  assert.deepEqual(blocks.filter((block) => checkOf(block) === undefined).map(placeOf), []);
  for (const [page, languages, path] of followed) {
    assert.ok(readFileSync(join(root, path), 'utf8').includes(page.split('/').at(-1) ?? ''), path);
    assert.ok(
      blocks.some((block) => block.page === page && languages.includes(block.language)),
      page,
    );
  }
  for (const [page, begin] of exempt)
    assert.ok(
      blocks.some((block) => block.page === page && block.text.startsWith(begin)),
      `${page}: ${begin}`,
    );
});

const posts = {
  name: 'posts',
  type: 'base',
  fields: [
    { name: 'id', type: 'text' },
    { name: 'title', type: 'text' },
    { name: 'rank', type: 'number' },
    { name: 'author', type: 'relation', collectionId: 'authors_id_0001', maxSelect: 1 },
  ],
};
const authors = {
  id: 'authors_id_0001',
  name: 'authors',
  type: 'base',
  fields: [{ name: 'name', type: 'text' }],
};

/** What the code of the pages takes for granted. */
const surroundings = `
import type PocketBase from 'pocketbase';
declare global {
  const pb: PocketBase;
  const file: File, one: File, two: File;
  const text: string, api: string, id: string, secret: string, body: string;
  const request: { headers: Headers & Record<string, string> };
  function readAllAgain(): void;
  function replaceAll(records: readonly object[]): void;
  function apply(action: string, record: object): void;
}`;

test('code in the pages is accepted by the compiler, with the SDK and the kit', (t) => {
  const code = blocksFor('code');
  assert.ok(code.length >= 8, String(code.length));
  const files = code.map(
    ({ text, page, line }) => [`${page.replaceAll(/\W/g, '-')}-${line}.ts`, `${text}\nexport {};\n`] as const,
  );
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    target: 'esnext',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['dom', 'dom.iterable', 'esnext'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  };
  const definitions = [{ id: 'posts_id_000001', ...posts }, authors];
  const compile = (more: Readonly<Record<string, string>>): void => {
    const project = temporaryTree(t, {
      ...Object.fromEntries(files),
      'surroundings.d.ts': surroundings,
      'chancery-types.ts': typedClient(definitions),
      'webhook-records.ts': typedWebhooks(definitions),
      'tsconfig.json': JSON.stringify({ compilerOptions, include: ['**/*'] }),
      'package.json': '{ "type": "module" }',
      ...more,
    });
    installKit(project);
    symlinkSync(join(root, 'node_modules/pocketbase'), join(project, 'node_modules/pocketbase'));
    run('tsc', ['-p', '.'], { cwd: project });
  };
  compile({});
  assert.throws(() => compile({ 'wrong.ts': 'pb.collection(5);' }), /not assignable/);
});

test('JSON in the pages is JSON', () => {
  for (const block of blocksFor('json')) assert.doesNotThrow(() => JSON.parse(block.text), placeOf(block));
});

test('files of configuration in the pages can be read, and name only what there is', () => {
  for (const block of blocksFor('configuration')) {
    if (block.language === 'yaml') assert.ok(parseYaml(block.text) instanceof Object, placeOf(block));
    else
      for (const name of Object.keys(parseToml(block.text)))
        assert.ok(
          allOptions.some((flag) => flag.name === name),
          `${placeOf(block)}: ${name}`,
        );
  }
});

/** Whether the API has an operation. Parameters of the paths stand for anything. */
function isOperation(method: string, path: string): boolean {
  const [clean = ''] = path.split('?', 1);
  const parts = clean.split('/');
  return Object.entries(openapi.paths).some(([pattern, operations]) => {
    const names = pattern.split('/');
    const fits =
      names.length === parts.length && names.every((name, at) => name.startsWith('{') || name === parts[at]);
    return fits && Object.hasOwn(operations, method.toLowerCase());
  });
}

test('requests in the pages are of operations that there are, and answers can be read', () => {
  for (const block of blocksFor('http')) {
    if (block.text.startsWith('HTTP/1.1 ')) {
      const [head = '', body = 'null'] = block.text.split('\n\n');
      const [status = '', ...headers] = head.split('\n');
      assert.match(status, /^HTTP\/1\.1 [1-5]\d\d [A-Z]/, placeOf(block));
      for (const header of headers) assert.match(header, /^[A-Za-z-]+: \S/, placeOf(block));
      assert.doesNotThrow(() => JSON.parse(body), placeOf(block));
      continue;
    }
    const [, method = '', path = ''] = /^([A-Z]+) (\/\S*)/.exec(block.text) ?? [];
    assert.ok(isOperation(method, path), `${placeOf(block)}: ${method} ${path}`);
  }
});

test('shell commands in the pages can be parsed, and use commands, flags, scripts and operations that there are', async (t) => {
  const shell = blocksFor('shell');
  assert.ok(shell.length >= 25, String(shell.length));
  const hasBash = spawnSync('bash', ['--version']).status === 0;
  if (!hasBash) t.diagnostic('not parsed: bash is not installed here');
  for (const block of shell) {
    const place = placeOf(block);
    if (hasBash) {
      const parsed = spawnSync('bash', ['-n'], { input: block.text, encoding: 'utf8' });
      assert.equal(parsed.status, 0, `${place}: ${parsed.stderr}`);
    }
    const lines = block.text.replaceAll('\\\n', ' ').split('\n');
    for (const line of lines) {
      await assertCommand(line, place);
      assertScripts(line, block);
      assertRequest(line, place);
    }
  }
});

/** Fails unless a command of ours has its name and its flags. */
async function assertCommand(line: string, place: string): Promise<void> {
  const started = /npm start -- (.*)$/.exec(line)?.[1];
  const typed = /(?:^|npx |exec chancery |exec node1 |\/bin\/|<\()chancery ([a-z][^|>)#]*)/.exec(line)?.[1];
  const text = started === undefined ? typed : `serve ${started}`;
  if (text === undefined) return;
  const [words = ''] = /^[a-z]+(?: [a-z]+)*(?= |$)/.exec(text) ?? [];
  const { code, stdout } = await runInProcess([...words.split(' '), '--help-all']);
  assert.equal(code, 0, `${place}: ${words}`);
  const flags = [...text.matchAll(/(?:^| )(--[a-z][a-z-]*)/g)].map(([, flag = '']) => flag);
  for (const flag of flags) assert.ok(stdout.includes(`${flag} `), `${place}: ${words} ${flag}`);
}

/** Fails unless scripts of npm are those of the repository, or of the example whose page it is. */
function assertScripts(line: string, { page, line: at }: DocBlock): void {
  const scripts = page.startsWith('examples/')
    ? ['build', 'dev', 'pack', 'start']
    : Object.keys(packageJson.scripts);
  for (const [, name = ''] of line.matchAll(/npm run (?:-s )?([\w:-]+)/g))
    assert.ok(scripts.includes(name), `${page}:${at}: npm run ${name}`);
}

/** Fails unless a request of curl is of an operation, and its JSON is some. */
function assertRequest(line: string, place: string): void {
  const [, path] = /curl .*?http:\/\/127\.0\.0\.1:8090(\/api[^\s"']*)/.exec(line) ?? [];
  if (path === undefined) return;
  const hasBody = / (?:-d|-F) /.test(line);
  const method = / -X ([A-Z]+)/.exec(line)?.[1] ?? (hasBody ? 'POST' : 'GET');
  assert.ok(isOperation(method, path), `${place}: ${method} ${path}`);
  for (const [, json = ''] of line.matchAll(/ -d '(\{.*?\})'/g))
    assert.doesNotThrow(() => JSON.parse(json), place);
}
