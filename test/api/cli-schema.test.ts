import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { describePlaces, posts, remoteRun, type Run } from '../support/command-stage.ts';
import { makeKey } from '../support/make-key.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a dump writes no file outside of its folder, whatever a service answers', async (t) => {
  const folder = temporaryFolder(t);
  const answer = JSON.stringify({ items: [{ id: 'a', name: '../escaped', fields: [] }] });
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'application/json').end(answer),
  );
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const url = `http://127.0.0.1:${port}`;
  const dumped = await runInProcess(['schema', 'dump', join(folder, 'schema'), '--url', url]);
  assert.deepEqual(
    [dumped.code, dumped.stderr],
    [65, 'chancery: "../escaped" is no name of a collection.\n'],
  );
  assert.deepEqual(readdirSync(folder), ['schema']);
});

test('a build sees a drift with a key that may only read definitions', async (t) => {
  const service = await startService(t);
  const { key } = await makeKey(service, ['collections:read']);
  const folder = join(temporaryFolder(t), 'schema');
  const run = remoteRun({ url: service.url, superuser: { ...service.superuser, token: key } });
  assert.equal((await run(['schema', 'dump', folder, '--system'])).code, 0);
  assert.deepEqual(readdirSync(folder), ['users.json']);
  assert.equal((await run(['schema', 'diff', folder])).code, 0);
  change(folder, 'users', (users) => ({ ...users, listRule: '' }));
  assert.equal((await run(['schema', 'diff', folder])).code, 1);
  const refused = await run(['schema', 'apply', folder]);
  assert.deepEqual([refused.code, /scope/.test(refused.stderr)], [77, true]);
});

describePlaces('schema', (start) => {
  test('a dump has a file for each collection, and is what is there', async (t) => {
    const { run } = await start(t);
    const folder = join(temporaryFolder(t), 'schema');
    const dumped = await run(['schema', 'dump', folder]);
    assert.equal(
      dumped.stdout,
      `posts.json written\nusers.json written\n2 definitions in ${folder}, 2 of them changed.\n`,
    );
    const text = readFileSync(join(folder, 'posts.json'), 'utf8');
    const { id, name, type, created, updated, system, fields } = JSON.parse(text);
    assert.match(id, /^pbc_\d+$/);
    assert.deepEqual(
      [name, type, created, updated, system],
      ['posts', 'base', undefined, undefined, undefined],
    );
    assert.deepEqual([fields[1].name, fields[1].required, typeof fields[1].id], ['title', true, 'string']);
    assert.ok(!readFileSync(join(folder, 'users.json'), 'utf8').includes('"secret"'));
    assert.ok(text.startsWith(`{\n  "id": "${id}",\n  "name": "posts",\n`) && text.endsWith('}\n'));

    const again = await run(['schema', 'dump', folder, '--json']);
    assert.deepEqual(JSON.parse(again.stdout), [
      { file: 'posts.json', state: 'unchanged' },
      { file: 'users.json', state: 'unchanged' },
    ]);
    const same = await run(['schema', 'diff', folder]);
    assert.deepEqual([same.code, same.stdout, same.stderr], [0, 'No differences: 2 definitions.\n', '']);
    assert.deepEqual(JSON.parse((await run(['schema', 'diff', folder, '--json'])).stdout), []);
    assert.equal((await run(['schema', 'apply', folder])).stdout, 'Nothing to change.\n');

    await run(['schema', 'dump', folder, '--system']);
    assert.equal(readDefinition(folder, '_superusers')['system'], true);
    assert.equal((await run(['schema', 'diff', folder])).code, 0);
  });

  test('a diff shows each change in a line and ends with 1, and apply makes them', async (t) => {
    const { run } = await start(t);
    const folder = await dumpOf(run, temporaryFolder(t));
    change(folder, 'posts', ({ fields, ...rest }) => ({
      ...rest,
      name: 'articles',
      listRule: 'title != ""',
      indexes: ['CREATE INDEX by_pages ON articles (pages)'],
      fields: fields
        .filter(({ name }) => name !== 'isDraft')
        .map((field) => (field.name === 'title' ? { ...field, name: 'headline', max: 99 } : field))
        .concat({ name: 'intro', type: 'text' }),
    }));
    change(folder, 'articles', () => ({ name: 'tags', fields: [{ name: 'word', type: 'text' }] }));
    change(folder, 'posts', (posted) => ({ ...posted, listRule: 'headline != ""' }));
    const shown = [
      '+ tags',
      '~ articles',
      '  ~ listRule: null → "headline != \\"\\""',
      '  ~ name: "posts" → "articles"',
      '  + field intro: text',
      '  ~ field headline: max: 0 → 99',
      '  ~ field headline: name: "title" → "headline"',
      '  - field isDraft: bool',
      '  + index by_pages: CREATE INDEX `by_pages` ON `articles` (`pages`)',
      '2 collections would change. Collections and fields with - stay, unless with apply --delete-missing.',
    ];
    const differing = await run(['schema', 'diff', folder]);
    assert.deepEqual([differing.stdout.trimEnd().split('\n'), differing.code], [shown, 1]);
    assert.equal(differing.stderr, '');
    const json = JSON.parse((await run(['schema', 'diff', folder, '--json'])).stdout);
    assert.deepEqual(json[1].parts[0], { part: 'listRule', before: null, after: 'headline != ""' });

    const rehearsed = await run(['schema', 'apply', folder, '--dry-run']);
    assert.deepEqual([rehearsed.code, rehearsed.stdout.endsWith('2 collections would change.\n')], [0, true]);
    assert.equal((await run(['schema', 'diff', folder])).code, 1);

    await run(['record', 'create', 'posts', 'title=Hello', 'isDraft:=true']);
    const applied = await run(['schema', 'apply', folder]);
    assert.deepEqual(
      [applied.code, applied.stdout.endsWith('\n2 collections changed.\n')],
      [0, true],
      applied.stderr,
    );
    const list = ['record', 'list', 'articles', '--fields'];
    // Without --delete-missing nothing is lost.
    assert.equal((await run([...list, 'headline,isDraft'])).stdout, 'Hello\ttrue\n');
    assert.match((await run(['schema', 'diff', folder])).stdout, /^~ articles\n  - field isDraft: bool\n/);
  });

  test('what the files do not have is deleted only where that is wanted, and asked for', async (t) => {
    const { run } = await start(t, { collections: [posts, { name: 'tags' }] });
    const folder = await dumpOf(run, temporaryFolder(t), (name) => name !== 'tags');
    change(folder, 'posts', ({ fields, ...rest }) => ({
      ...rest,
      fields: fields.filter(({ name }) => name !== 'pages'),
    }));
    const apply = ['schema', 'apply', folder, '--delete-missing'];
    const unsure = await run(apply);
    assert.equal(unsure.code, 64);
    assert.match(
      unsure.stderr,
      /This deletes the collection tags with records in it and the field posts\.pages with values in it\. .* --yes/,
    );
    const another = await run(apply, { columns: 100, input: 'no\n' });
    assert.deepEqual([another.code, /nothing was deleted/.test(another.stderr)], [65, true]);
    assert.equal((await run(['collection', 'show', 'tags'])).code, 0);
    assert.match((await run([...apply, '--dry-run'])).stdout, /^~ posts\n  - field pages: number\n- tags\n/);
    const sure = await run([...apply, '--yes', '--json']);
    assert.equal(JSON.parse(sure.stdout).applied, true, sure.stderr);
    assert.equal((await run(['collection', 'show', 'tags'])).code, 65);
    assert.equal((await run(['schema', 'diff', folder])).code, 0);
  });

  test('a dump takes away the file of a renamed collection, and only on wish one that it does not know', async (t) => {
    const { run } = await start(t);
    const folder = await dumpOf(run, temporaryFolder(t));
    change(folder, 'posts', (definition) => ({ ...definition, name: 'articles' }));
    await run(['schema', 'apply', folder]);
    change(folder, 'notes', () => ({ name: 'notes', fields: [] }));
    const dumped = await run(['schema', 'dump', folder]);
    assert.match(
      dumped.stdout,
      /^articles\.json written\nnotes\.json stays: its collection is not there .*\nposts\.json removed\n/,
    );
    assert.deepEqual(readdirSync(folder), ['articles.json', 'notes.json', 'users.json']);
    await run(['schema', 'dump', folder, '--prune']);
    assert.deepEqual(readdirSync(folder), ['articles.json', 'users.json']);
  });

  test('files that are no definitions are refused, and named', async (t) => {
    const { run } = await start(t);
    const folder = temporaryFolder(t);
    const cases: readonly (readonly [code: number, says: RegExp, text: string])[] = [
      [65, /posts\.json is not a JSON object/, '[]'],
      [65, /posts\.json is no definition: it has no name/, '{}'],
      [
        65,
        /posts\.json has authToken\.secret: secrets do not belong/,
        '{"name":"a","authToken":{"secret":"s"}}',
      ],
      [
        65,
        /Failed to import collections\. \(collections: The collection at index 0, "posts", is refused\. fields\.1\.type: /,
        '{"name":"posts","fields":[{"name":"a","type":"int"}]}',
      ],
    ];
    const empty = await run(['schema', 'diff', folder]);
    assert.deepEqual(
      [empty.code, /There are no definitions in .*: chancery schema dump/.test(empty.stderr)],
      [65, true],
    );
    assert.equal((await run(['schema', 'apply', join(folder, 'none')])).code, 74);
    for (const [code, says, text] of cases) {
      writeFileSync(join(folder, 'posts.json'), text);
      const refused = await run(['schema', 'apply', folder, '--yes']);
      assert.match(refused.stderr, says);
      assert.match(refused.stderr, /^chancery: [^\n]+\n$/);
      assert.deepEqual([refused.code, refused.stdout], [code, '']);
    }
  });
});

interface Definition extends Readonly<Record<string, unknown>> {
  readonly fields: readonly (Readonly<Record<string, unknown>> & { readonly name: string })[];
}

function readDefinition(folder: string, name: string): Definition {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
}

function change(folder: string, name: string, to: (definition: Definition) => object): void {
  const file = join(folder, `${name}.json`);
  const before = existsSync(file) ? readDefinition(folder, name) : { fields: [] };
  writeFileSync(file, JSON.stringify(to(before)));
}

async function dumpOf(
  run: Run,
  folder: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<string> {
  const all = join(folder, 'all');
  const dumped = await run(['schema', 'dump', all]);
  assert.equal(dumped.code, 0, dumped.stderr);
  const some = join(folder, 'some');
  mkdirSync(some);
  for (const file of readdirSync(all))
    if (isWanted(file.replace('.json', ''))) writeFileSync(join(some, file), readFileSync(join(all, file)));
  return some;
}
