import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runCommandOver } from '../support/start-command.ts';
import { ann, ben, blogPosts, superuser } from '../support/pocketbase-blog.ts';
import { makePocketbaseDirectory, sourceAccounts, sourceId } from '../support/pocketbase-directory.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const page = readFileSync(new URL('../../docs/importing.md', import.meta.url), 'utf8');

test('the dry run of docs/importing.md says what the page says, and the import too', async (t) => {
  const [, command = ''] = /^```sh\n(.+?)\n```$/ms.exec(page) ?? [];
  const [, said = ''] = /^```text\n(.+?)^```$/ms.exec(page) ?? [];
  const [, shown = ''] = /^npx chancery import pocketbase (.+)$/.exec(command) ?? [];
  const directory = makePocketbaseDirectory(t, {
    tables: [
      ...sourceAccounts([ann, ben], [superuser]),
      { ...blogPosts, more: { ...blogPosts.more, viewRule: '@collection.titles.id ?= id' } },
      {
        id: 'pbc_9',
        name: 'notes',
        fields: [sourceId, { id: 'date1', name: 'due', type: 'date' }],
        rows: [{ id: 'note00000000001', due: 'soon' }, { id: 'a/b' }],
      },
      {
        id: 'pbc_v',
        name: 'titles',
        type: 'view',
        fields: [],
        more: { viewQuery: 'SELECT title FROM posts' },
      },
    ],
    files: { 'pbc_1125843985/post00000000001/cover_abc.png': 'picture' },
  });
  const data = temporaryFolder(t);
  const args = shown.split(' ').map((arg) => (arg === 'pb_data' ? directory : arg));
  assert.ok(args.includes(directory) && args.includes('--dry-run'), shown);
  const dry = await runCommandOver(data, ['import', 'pocketbase', ...args]);
  assert.deepEqual([dry.stdout, dry.stderr], [said, '']);
  const real = await runCommandOver(data, ['import', 'pocketbase', directory]);
  assert.deepEqual([real.stdout, real.stderr], [said.replace('Would import', 'Imported'), '']);
});
