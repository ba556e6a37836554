// Both engines: an import makes unique indexes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importInto } from '../support/import-into.ts';
import { ann, ben } from '../support/pocketbase-blog.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceDates,
  sourceId,
  type SourceDirectory,
  type SourceTable,
} from '../support/pocketbase-directory.ts';
import { startService } from '../support/service.ts';

const why = 'Several records are equal in this, of which a unique index admits one: an import would stop.';

const notes: SourceTable = {
  id: 'pbc_9',
  name: 'notes',
  fields: [
    sourceId,
    { id: 'text1', name: 'text', type: 'text' },
    { id: 'number1', name: 'number', type: 'number' },
    { id: 'json1', name: 'json', type: 'json' },
    ...sourceDates,
  ],
  declared: { id: 'TEXT', text: 'TEXT', number: 'NUMERIC' },
};

/** Values as SQL writes them. */
const insert = (id: string, text: string, number: string): string =>
  `INSERT INTO notes (id, text, number) VALUES ('${id}', ${text}, ${number});`;

/** Notes under an index that the file itself does not hold them to. */
function notesUnder(keys: string, ...rows: readonly string[]): SourceDirectory {
  const indexes = [`CREATE UNIQUE INDEX \`idx_notes\` ON \`notes\` ${keys}`];
  return { tables: [{ ...notes, indexes }], sql: `DROP INDEX idx_notes; ${rows.join(' ')}` };
}

test('a dry run tells of accounts that have the same address, by one of them, before anything is written', async (t) => {
  const service = await startService(t);
  const [users, superusers] = sourceAccounts([ann, ben]);
  const more = ['ccccccccccccccc', 'ddddddddddddddd', 'eeeeeeeeeeeeeee'].map((id) => ({ ...ben, id }));
  const same = more.map((user, at) => ({ ...user, email: at < 2 ? 'Same@example.com' : 'same@example.com' }));
  const twins = { ...ann, id: 'zzzzzzzzzzzzzzz' };
  const tables = [
    { ...users, indexes: [], rows: [...(users.rows ?? []), twins, ...same, { ...ben, id: 'f', email: '' }] },
    superusers,
  ];
  const directory = makePocketbaseDirectory(t, { tables });
  const { omissions } = await importInto(service, directory, { isDryRun: true });
  const of = 'users';
  assert.deepEqual(omissions, [
    { kind: 'to look at', of, what: 'email', why, count: 2, examples: ['ccccccccccccccc', ann['id']] },
  ]);
  await assert.rejects(importInto(service, directory), /users has records that are equal in email,/);
});

const cases: Readonly<
  Record<string, { readonly source: SourceDirectory; readonly told: readonly string[] }>
> = {
  'all of several fields': {
    source: notesUnder('(`text`, `number`)', insert('a', "'x'", '1'), insert('b', "'x'", '1')),
    told: ['text, number [a]'],
  },
  'some of several fields': {
    source: notesUnder('(`text`, `number`)', insert('a', "'x'", '1'), insert('b', "'x'", '2')),
    told: [],
  },
  'all but the case': {
    source: notesUnder('(`text`)', insert('a', "'x'", '1'), insert('b', "'X'", '1')),
    told: [],
  },
  'a text whose case does not count': {
    source: notesUnder('(`text` COLLATE NOCASE)', insert('b', "'x'", '1'), insert('a', "'X'", '1')),
    told: ['text [a]'],
  },
  'what the index leaves out': {
    source: notesUnder(
      "(`text`) WHERE `text` != 'it''s' AND `number` > 1",
      insert('a', "'it''s'", '2'),
      insert('b', "'it''s'", '2'),
      insert('c', "'x'", '1'),
      insert('d', "'x'", '2'),
    ),
    told: [],
  },
  'what the index does not leave out': {
    source: notesUnder('(`text`) WHERE `number` > 1', insert('a', "'x'", '2'), insert('b', "'x'", '3')),
    told: ['text [a]'],
  },
  'what becomes the same empty value': {
    source: notesUnder('(`number`, `text`)', insert('a', 'NULL', '0'), insert('b', "''", 'NULL')),
    told: ['number, text [a]'],
  },
  'JSON that is not there': {
    source: notesUnder('(`json`)', insert('a', "'x'", '1'), insert('b', "'y'", '1')),
    told: [],
  },
  'a field that the file has no column of': {
    source: {
      ...notesUnder('(`text`)'),
      sql: `DROP INDEX idx_notes; ALTER TABLE notes DROP COLUMN text; INSERT INTO notes (id) VALUES ('a'), ('b')`,
    },
    told: ['text [a]'],
  },
  'their ids': {
    source: { tables: [notes], sql: insert('a', "'x'", '1') + insert('a', "'y'", '1') },
    told: ['id [a]'],
  },
  'no ids at all': {
    source: notesUnder('(`text`)', insert('', "'x'", '1'), insert('', "'x'", '1'), insert('a', "'x'", '1')),
    told: [],
  },
};

test('a dry run tells of equal records where the import would stop at them, and nowhere else', async (t) => {
  const service = await startService(t);
  for (const [at, [name, { source, told }]] of Object.entries(cases).entries()) {
    const slug = `case${at}`;
    await service.app.data.directory.create(slug, null);
    const directory = makePocketbaseDirectory(t, source);
    const options = { slug, rotateTokens: true };
    const { omissions } = await importInto(service, directory, { ...options, isDryRun: true });
    const found = omissions.filter(({ kind }) => kind === 'to look at');
    assert.deepEqual(
      found.map(({ what, examples }) => `${what} [${examples.join()}]`),
      told,
      name,
    );
    const real = importInto(service, directory, options);
    if (told.length === 0) await assert.doesNotReject(real, name);
    else await assert.rejects(real, /notes has records that are equal/, name);
  }
});
