import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { describePlaces } from '../support/command-stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describePlaces('collection', (start) => {
  test('a collection is created, listed, shown, emptied and deleted', async (t) => {
    const { run } = await start(t, { collections: [] });
    const created = await run(['collection', 'create', 'books', 'title:text', 'pages:number']);
    assert.match(created.stdout, /^Collection books created with the id \w+\.\n$/);
    const list = (await run(['collection', 'list'])).stdout;
    assert.match(list, /^books\tbase\t\w+\tfalse\t5$/m);
    assert.match(list, /^_superusers\tauth\tpbc_3142635823\ttrue\t/m);
    const shown = (await run(['collection', 'show', 'books'])).stdout;
    assert.match(shown, /^fields\tid:text,title:text,pages:number,created:autodate,updated:autodate$/m);
    assert.match(shown, /^listRule\t\(superusers only\)$/m);
    const { id } = JSON.parse((await run(['collection', 'show', 'books', '--json'])).stdout);
    assert.equal(JSON.parse((await run(['collection', 'show', id, '--json'])).stdout).name, 'books');

    for (const title of ['One', 'Two']) await run(['record', 'create', 'books', `title=${title}`]);
    const unsure = await run(['collection', 'truncate', 'books']);
    assert.deepEqual([unsure.code, /--yes/.test(unsure.stderr)], [64, true]);
    assert.equal(
      (await run(['collection', 'truncate', 'books', '--yes'])).stdout,
      'All records of books deleted.\n',
    );
    assert.equal((await run(['record', 'list', 'books'])).stdout, '');

    const remove = ['collection', 'delete', 'books'];
    assert.equal((await run(remove, { columns: 80, input: 'book\n' })).code, 65);
    const removed = await run(remove, { columns: 80, input: 'books\n' });
    assert.deepEqual([removed.code, removed.stdout], [0, 'Collection books deleted.\n']);
    const gone = await run([...remove, '--yes']);
    assert.deepEqual([gone.code, gone.stderr], [65, 'chancery: There is no collection books.\n']);
  });

  test('the rest of a definition comes from a file or standard input', async (t) => {
    const { run } = await start(t, { collections: [] });
    const file = join(temporaryFolder(t), 'books.json');
    const definition = { listRule: '', fields: [{ name: 'title', type: 'text', max: 9 }] };
    writeFileSync(file, JSON.stringify(definition));
    const created = await run(['collection', 'create', 'books', 'pages:number', '--from', file, '--json']);
    const { listRule, fields } = JSON.parse(created.stdout);
    assert.deepEqual([listRule, fields[1].max, fields[2].name], ['', 9, 'pages']);
    const piped = await run(['collection', 'create', 'more', '--from', '-'], {
      input: JSON.stringify(definition),
    });
    assert.equal(piped.code, 0, piped.stderr);
    const cases: readonly (readonly [
      code: number,
      says: RegExp,
      input: string,
      ...args: readonly string[],
    ])[] = [
      [65, /Standard input is not a JSON object/, '[]', 'x', '--from', '-'],
      [74, /ENOENT/, '', 'x', '--from', `${file}.none`],
      [64, /Expected NAME:TYPE, as title:text, not "title"/, '', 'x', 'title'],
      [65, /Failed to create collection\. \(fields\.1\.type: /, '', 'x', 'title:txt'],
      [65, /Failed to create collection\. \(name: /, '', 'books'],
    ];
    for (const [code, says, input, ...args] of cases) {
      const ended = await run(['collection', 'create', ...args], { input });
      assert.match(ended.stderr, says);
      assert.deepEqual([ended.code, ended.stdout], [code, '']);
    }
  });
});
