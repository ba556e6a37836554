import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openTestPostgres } from '../support/postgres.ts';
import { type CommandResult, runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function createDatabase(t: TestContext): Promise<string> {
  const server = await openTestPostgres();
  const url = await server.createDatabase();
  t.after(() => server.dropDatabase(url));
  return url;
}

test('a move takes views along, and names those that PostgreSQL refuses before anything is written', async (t) => {
  const folder = temporaryFolder(t);
  const data = join(temporaryFolder(t), 'data');
  const url = await createDatabase(t);
  const run = (...args: readonly string[]): Promise<CommandResult> => runInProcess([...args]);
  const succeed = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const push = async (
    collections: readonly { readonly name: string; readonly [member: string]: unknown }[],
  ): Promise<void> => {
    for (const one of collections) writeFileSync(join(folder, `${one.name}.json`), JSON.stringify(one));
    await succeed('schema', 'apply', folder, '--yes', '--data', data);
  };
  await succeed('instance', 'create', 'acme', '--data', data);
  await push([
    { name: 'posts', fields: [{ name: 'title', type: 'text' }] },
    { name: 'titles', type: 'view', viewQuery: 'SELECT id, title FROM posts' },
    { name: 'ends', type: 'view', viewQuery: "SELECT id, iif(title = '', 0, 1) AS more FROM posts" },
  ]);
  const refused = await run('move', '--data', data, '--postgres', url);
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /Views of default cannot be made here: ends \(/);
  await push([{ name: 'ends', type: 'view', viewQuery: 'SELECT id, CAST(1 AS integer) AS more FROM posts' }]);
  assert.match(await succeed('move', '--data', data, '--postgres', url), /^Moved 2 instances/);
});
