import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCsv } from '../../src/cli/records/csv.ts';
import { describePlaces } from '../support/command-stage.ts';
import { csvCells } from '../support/csv-cells.ts';
import type { CommandResult } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describePlaces('record', (start) => {
  test('a record is created, shown, listed, changed and deleted', async (t) => {
    const { run } = await start(t);
    const values = ['title=The Sea', 'pages=195', 'tags:=["sea","air"]', 'isDraft:=true'];
    const created = jsonOf(await run(['record', 'create', 'posts', ...values, '--json']));
    const { id } = created;
    assert.deepEqual(
      [created['title'], created['pages'], created['tags'], created['isDraft']],
      ['The Sea', 195, ['sea', 'air'], true],
    );
    assert.deepEqual(jsonOf(await run(['record', 'get', 'posts', id, '--json'])), created);
    const lines = (await run(['record', 'get', 'posts', id, '--fields', 'title,tags'])).stdout;
    assert.equal(lines, 'title\tThe Sea\ntags\tsea,air\n');

    const changed = jsonOf(
      await run(['record', 'update', 'posts', id, 'title=', 'title=Sea', 'pages+=1', '--json']),
    );
    assert.deepEqual([changed['title'], changed['pages']], ['Sea', 196]);
    await run(['record', 'create', 'posts', '-'], { input: '{"title":"Wool","pages":80}' });
    const list = ['record', 'list', 'posts', '--sort', 'pages', '--fields', 'title,pages'];
    assert.equal((await run(list)).stdout, 'Wool\t80\nSea\t196\n');
    assert.equal((await run([...list, '--filter', 'pages > 100'])).stdout, 'Sea\t196\n');
    assert.equal((await run([...list, '--limit', '1', '--page', '2'])).stdout, 'Sea\t196\n');
    const [first] = JSON.parse((await run([...list, '--json'])).stdout);
    assert.deepEqual(first, { title: 'Wool', pages: 80 });

    const removal = ['record', 'delete', 'posts', id];
    const refused = await run(removal);
    assert.equal(refused.code, 64);
    assert.match(
      refused.stderr,
      /^chancery: This deletes the record \w+ of posts\. Cannot prompt without a terminal: .* --yes/,
    );
    assert.deepEqual(await run([...removal, '--yes']), said(`Record ${id} of posts deleted.\n`));
    const gone = await run([...removal, '--yes']);
    assert.deepEqual(
      [gone.code, gone.stderr],
      [65, `chancery: There is no record ${id} in a collection posts.\n`],
    );
  });

  test('the past of a record is shown, and it is reverted and undeleted', async (t) => {
    const { run } = await start(t);
    const { id } = jsonOf(await run(['record', 'create', 'posts', 'title=one', 'pages=1', '--json']));
    await run(['record', 'update', 'posts', id, 'title=two', 'pages=2']);
    const history = ['record', 'history', 'posts', id, '--fields', 'title'];
    const rows = (await run(history)).stdout.trimEnd().split('\n');
    assert.deepEqual(
      rows.map((row) => row.split('\t').slice(1, 4)),
      [
        ['2', 'record.update', 'two'],
        ['1', 'record.create', 'one'],
      ],
    );
    assert.equal((await run([...history, '--limit', '1'])).stdout.split('\n').length, 2);
    const revert = ['record', 'revert', 'posts', id, '--to', '1'];
    const unseen = await run([...revert, '--if-revision', '1']);
    assert.deepEqual([unseen.code, unseen.stderr], [65, 'chancery: The record has changed.\n']);
    const reverted = await run([...revert, '--if-revision', '2', 'pages=7']);
    assert.match(
      reverted.stdout,
      new RegExp(`^Record ${id} of posts reverted, as it was in revision 1 of .*Z\\.\n$`),
    );
    const list = ['record', 'list', 'posts', '--fields', 'title,pages'];
    assert.equal((await run(list)).stdout, 'one\t7\n');
    assert.match((await run([...revert, 'pages=7'])).stdout, /already\.\n$/);
    await run(['record', 'delete', 'posts', id, '--yes']);
    const undeleted = jsonOf(await run([...revert, '--json']));
    assert.equal(undeleted['action'], 'created');
    assert.equal((await run(list)).stdout, 'one\t1\n');
    const refused = await run(['record', 'revert', 'posts', id, '--to', 'yesterday']);
    assert.deepEqual(
      [refused.code, refused.stderr.slice(0, 44)],
      [65, 'chancery: Failed to revert record. (to: Expe'],
    );
    const unknown = await run(['record', 'history', 'posts', 'nothing']);
    assert.deepEqual(
      [unknown.code, unknown.stderr],
      [
        65,
        'chancery: There is no record nothing in a collection posts, and the event log has nothing of one.\n',
      ],
    );
  });

  test('a terminal gets tables as wide as it is, and is asked before something is deleted', async (t) => {
    const { run } = await start(t);
    const title = `A long ${'title '.repeat(20)}`;
    const { id } = jsonOf(
      await run(['record', 'create', 'posts', `title=${title}`, 'tags:=["sea"]', '--json']),
    );
    await run(['record', 'create', 'posts', 'title=\u001b[31mred\u009b']);
    const table = await run(['record', 'list', 'posts', '--sort', 'title'], {
      columns: 60,
      environment: { NO_COLOR: '1' },
    });
    const rows = table.stdout.split('\n');
    assert.match(rows[0]!, /^id {15}title$/);
    assert.match(rows[1]!, /^\w{15} {2}\\u001b\[31mred\\u009b$/);
    assert.match(rows[2]!, /^\w{15} {2}A long title title .*…$/);
    assert.equal(rows[3], 'and pages, isDraft, tags, meta, created, updated: see --json');
    assert.ok(rows.every((row) => row.length <= 60));
    const coloured = await run(['record', 'list', 'posts'], { columns: 60 });
    assert.ok(coloured.stdout.startsWith('\u001b[1mid'), coloured.stdout);
    const json = await run(['record', 'list', 'posts', '--sort', 'title', '--json'], { columns: 60 });
    assert.ok(!/[\u{7f}-\u{9f}]/u.test(json.stdout) && !json.stdout.includes('\u001b'));
    assert.equal(JSON.parse(json.stdout)[0].title, '\u001b[31mred\u009b');

    const removal = ['record', 'delete', 'posts', id];
    const another = await run(removal, { columns: 60, input: 'posts\n' });
    assert.deepEqual([another.code, another.stderr.endsWith('nothing was deleted.\n')], [65, true]);
    const named = await run(removal, { columns: 60, input: `${id}\n` });
    assert.equal(named.code, 0, named.stderr);
    assert.match(
      named.stderr,
      new RegExp(`^This deletes the record ${id} of posts in .+\\. Type ${id} to confirm: $`),
    );
  });

  test('a refusal is one line with what was refused', async (t) => {
    const { run } = await start(t);
    const cases: readonly (readonly [code: number, says: RegExp, ...args: readonly string[]])[] = [
      [65, /Failed to create record\. \(title: Cannot be blank\.\)/, 'create', 'posts', 'pages=1'],
      [65, /There is no collection nope\./, 'list', 'nope'],
      [65, /There is no record x in a collection posts\./, 'get', 'posts', 'x'],
      [65, /Invalid|filter/, 'list', 'posts', '--filter', 'nope = 1'],
      [64, /Expected FIELD=TEXT, FIELD:=JSON or -, not "title"/, 'create', 'posts', 'title'],
      [64, /tags:= takes JSON, not "sea"/, 'create', 'posts', 'tags:=sea'],
      [65, /Standard input is not a JSON object/, 'create', 'posts', '-'],
      [64, /--limit must be a whole number from 1 to 1000, not "0"/, 'list', 'posts', '--limit', '0'],
      [64, /unknown option '--filtre' \(Did you mean --filter\?\)/, 'list', 'posts', '--filtre', 'x'],
      [64, /unknown command 'lst' \(Did you mean list\?\)/, 'lst', 'posts'],
      [64, /missing required argument 'id'/, 'get', 'posts'],
    ];
    for (const [code, says, ...args] of cases) {
      const ended = await run(['record', ...args]);
      assert.match(ended.stderr, /^chancery: [^\n]+\n$/);
      assert.match(ended.stderr, says);
      assert.deepEqual([ended.code, ended.stdout], [code, ''], ended.stderr);
    }
  });

  test('an export can be imported again, in each format', async (t) => {
    const { run } = await start(t);
    const folder = temporaryFolder(t);
    const odd = {
      title: ' "quoted", and\r\nmore\t',
      pages: -1.5e-7,
      isDraft: true,
      tags: ['sea'],
      meta: { a: [1] },
    };
    const plain = { title: '=1+1', pages: 3, isDraft: false, tags: [], meta: null };
    for (const record of [odd, plain])
      await run(['record', 'create', 'posts', '-'], { input: JSON.stringify(record) });
    for (const format of ['csv', 'json', 'ndjson']) {
      const file = join(folder, `posts.${format}`);
      const exported = await run(['record', 'export', 'posts', file, '--sort', '-pages']);
      assert.deepEqual(exported, said(`Exported 2 records of posts to ${file}.\n`));
      const { stdout } = await run(['record', 'export', 'posts', '--format', format, '--sort', '-pages']);
      assert.equal(stdout, readFileSync(file, 'utf8'));
      await deleteAll(run);
      assert.deepEqual(
        await run(['record', 'import', 'posts', file]),
        said('Imported 2 records into posts.\n'),
      );
      const fields = ['--fields', 'title,pages,isDraft,tags,meta'];
      const list = JSON.parse(
        (await run(['record', 'list', 'posts', '--sort', 'pages', ...fields, '--json'])).stdout,
      );
      assert.deepEqual(list, [odd, plain], format);
    }
    assert.deepEqual(readdirSync(folder).toSorted(), ['posts.csv', 'posts.json', 'posts.ndjson']);
  });

  test('what a spreadsheet would run is an apostrophe away from it in CSV, and itself after an import', async (t) => {
    const { run } = await start(t);
    const metas = ['=1+1', "'=1", -1, null, { a: ['@x'] }];
    for (const [at, [title]] of csvCells.entries()) {
      const record = { title, pages: -at, meta: metas[at % metas.length] };
      await run(['record', 'create', 'posts', '-'], { input: JSON.stringify(record) });
    }
    const fields = ['--fields', 'title,pages,isDraft,tags,meta'];
    const listed = async (): Promise<string> =>
      (await run(['record', 'list', 'posts', '--sort', 'pages', ...fields, '--json'])).stdout;
    const before = await listed();
    for (const flags of [[], ['--raw']]) {
      const exporting = ['record', 'export', 'posts', '--format', 'csv', '--sort', '-pages', ...flags];
      const { stdout } = await run([...exporting, '--fields', 'title,pages']);
      const at = flags.length === 0 ? 1 : 0;
      const titles = (await Array.fromAsync(readCsv(ReadableStream.from([stdout])))).slice(1);
      assert.deepEqual(
        titles.map(({ cells }) => cells),
        csvCells.map((pair, place) => [pair[at], `${-place}`]),
      );
      const whole = (await run(exporting)).stdout;
      await deleteAll(run);
      const importing = ['record', 'import', 'posts', '-', '--format', 'csv', ...flags];
      const { code, stderr } = await run(importing, { input: whole });
      assert.equal(code, 0, stderr);
      assert.equal(await listed(), before);
    }
  });

  test('an import names the lines that it refuses, and goes on', async (t) => {
    const { run } = await start(t);
    const file = join(temporaryFolder(t), 'posts.csv');
    const lines = ['title,pages,isDraft,tags', 'One,1,true,sea', ',2,,', 'Three,x,,', '"Fo', 'ur",4,no,'];
    const rest = ['Five,5,1,"[""sea"",""land""]"', 'Six,6', '', 'Seven,7,,fire', 'Eight,8,false,'];
    writeFileSync(file, [...lines, ...rest].join('\n'));
    const { code, stdout, stderr } = await run(['record', 'import', 'posts', file]);
    assert.deepEqual(
      stderr.trimEnd().split('\n').toSorted(),
      [
        'line 3: title: Cannot be blank.',
        'line 4: pages: expected a number, found "x".',
        'line 5: isDraft: expected true or false, found "no".',
        'line 8: expected 4 cells, found 2.',
        'line 10: tags: Invalid value fire.',
      ].toSorted(),
    );
    assert.deepEqual([code, stdout], [65, 'Imported 3 records into posts; 5 were refused.\n']);
    const kept = await run(['record', 'list', 'posts', '--sort', 'pages', '--fields', 'title,tags']);
    assert.equal(kept.stdout, 'One\tsea\nFive\tsea,land\nEight\t\n');
  });

  test('dates that cannot be read are refused, in a file and in an argument', async (t) => {
    const { run } = await start(t);
    await run(['collection', 'create', 'tasks', 'title:text', 'due:date']);
    const lines = [
      'title,due',
      'a,07.01.2024',
      'b,1/7/2024',
      'c,2024-1-7',
      'd,2023-02-30',
      'e,2024-01-07',
      'f,',
    ];
    const { code, stdout, stderr } = await run(['record', 'import', 'tasks', '-', '--format', 'csv'], {
      input: lines.join('\n'),
    });
    assert.deepEqual([code, stdout], [65, 'Imported 2 records into tasks; 4 were refused.\n']);
    assert.match(stderr, /^(?:line [2-5]: due: Must be a date such as [^\n]*\n){4}$/);
    const list = ['record', 'list', 'tasks', '--fields', 'title,due', '--sort', 'title'];
    const kept = 'e\t2024-01-07 00:00:00.000Z\nf\t\n';
    assert.equal((await run(list)).stdout, kept);
    const { id } = jsonOf(await run(['record', 'create', 'tasks', 'title=g', '--json']));
    const changed = await run(['record', 'update', 'tasks', id, 'due=tomorrow']);
    assert.deepEqual([changed.code, /due: Must be a date/.test(changed.stderr)], [65, true], changed.stderr);
    assert.equal((await run(list)).stdout, `${kept}g\t\n`);
  });

  test('an import with --atomic imports all or nothing', async (t) => {
    const { run } = await start(t);
    const importing = ['record', 'import', 'posts', '-', '--format', 'ndjson', '--atomic'];
    const bad = await run(importing, { input: '{"title":"One"}\n{"pages":2}\n{"title":"Three"}\n' });
    assert.deepEqual(
      [bad.code, bad.stderr],
      [65, 'chancery: line 2: title: Cannot be blank. Nothing was imported.\n'],
    );
    const mistyped = await run(importing, { input: '{"title":"One"}\n{"titel":"Two"}\n' });
    assert.match(
      mistyped.stderr,
      /^chancery: line 2: titel: there is no such field\. Nothing was imported\.\n$/,
    );
    const many = await run(importing, { input: '{"title":"One"}\n'.repeat(51) });
    assert.match(
      many.stderr,
      /^chancery: There are 51 records, more than a batch may have: .*Nothing was imported\.\n$/,
    );
    assert.equal((await run(['record', 'list', 'posts'])).stdout, '');
    const good = await run(importing, { input: '{"title":"One"}\n\n{"title":"Two"}' });
    assert.deepEqual(good, said('Imported 2 records into posts.\n'));
  });

  test('an import with --upsert may be repeated', async (t) => {
    const { run } = await start(t);
    const importing = ['record', 'import', 'posts', '-', '--format', 'json'];
    const records = [1, 2].map((pages) => ({ id: `post0000000000${pages}`, title: 'One', pages }));
    await run(importing, { input: JSON.stringify(records) });
    const again = await run(importing, { input: JSON.stringify(records) });
    assert.deepEqual([again.code, /^record 1: id: .+\nrecord 2: id: .+\n$/.test(again.stderr)], [65, true]);
    const changed = records.map((record) => ({ ...record, title: 'Two' }));
    const upserted = await run([...importing, '--upsert', '--json'], {
      input: JSON.stringify({ items: changed }),
    });
    assert.deepEqual(JSON.parse(upserted.stdout), { imported: 2, refused: 0, refusals: [] });
    assert.equal((await run(['record', 'list', 'posts', '--fields', 'title'])).stdout, 'Two\nTwo\n');
  });

  test('what is no table or no list is refused with its place', async (t) => {
    const { run } = await start(t);
    const cases: readonly (readonly [format: string, input: string, says: RegExp])[] = [
      ['csv', 'title\n"One', /line 2: this is no CSV: a quote is not closed\. Nothing was imported\./],
      ['csv', 'title\n"One"x\n', /line 2: this is no CSV: there is text behind a closing quote\./],
      ['csv', 'title\nOn"e\n', /line 2: this is no CSV: there is a quote in a cell without quotes\./],
      ['csv', 'title,title\nOne,Two\n', /The first line has the column title twice/],
      ['csv', 'title,\nOne,Two\n', /The first line has a column without a name/],
      ['json', '{"title":"One"}', /not a JSON list of records/],
      ['json', '[{"title":', /not a JSON list of records/],
    ];
    for (const [format, input, says] of cases) {
      const { code, stderr } = await run(['record', 'import', 'posts', '-', '--format', format], { input });
      assert.match(stderr, says);
      assert.equal(code, 65);
    }
    const lines = await run(['record', 'import', 'posts', '-', '--format', 'ndjson'], {
      input: '[]\n{"title":\n{"title":"A"}',
    });
    assert.equal(lines.stderr, 'line 1: this is not a JSON object.\nline 2: this is not a JSON object.\n');
    const unnamed = await run(['record', 'import', 'posts', '-'], { input: '' });
    assert.deepEqual([unnamed.code, /Give --format/.test(unnamed.stderr)], [64, true]);
    const missing = await run(['record', 'import', 'posts', join(temporaryFolder(t), 'none.csv')]);
    assert.deepEqual([missing.code, /ENOENT/.test(missing.stderr)], [74, true]);
  });
});

async function deleteAll(run: (args: readonly string[]) => Promise<CommandResult>): Promise<void> {
  const { stdout } = await run(['record', 'list', 'posts', '--fields', 'id']);
  for (const id of stdout.trim().split('\n')) await run(['record', 'delete', 'posts', id, '--yes']);
}

function said(stdout: string): CommandResult {
  return { code: 0, stdout, stderr: '' };
}

function jsonOf({
  code,
  stdout,
  stderr,
}: CommandResult): { readonly id: string } & Readonly<Record<string, unknown>> {
  assert.deepEqual([code, stderr], [0, '']);
  // Each command that this is used for shows a record.
  return JSON.parse(stdout) as { readonly id: string };
}
