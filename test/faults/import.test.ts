// Both engines: an import goes on behind its last commit.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { startChild } from '../support/child.ts';
import { storageOf } from '../support/import-into.ts';
import { runCommandOver } from '../support/start-command.ts';
import { makePocketbaseDirectory, sourceAccounts, sourceId } from '../support/pocketbase-directory.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { testConfig } from '../support/test-config.ts';
import type { DyingImport } from './dying-import.ts';

const points = ['files', 'records', 'collection'] as const;
const count = 5_000;
const fields = [
  sourceId,
  { id: 'number1', name: 'number', type: 'number' },
  { id: 'file1', name: 'file', type: 'file' },
];

describe('an import that is killed', () => {
  for (const point of points)
    test(`goes on where it was when it is run again: at "${point}"`, async (t) => {
      const rows = Array.from({ length: count }, (_, at) => ({
        id: `r${String(at).padStart(14, '0')}`,
        number: at,
        file: at === 7 ? 'seven.txt' : '',
      }));
      const directory = makePocketbaseDirectory(t, {
        tables: [
          ...sourceAccounts([]),
          { id: 'pbc_9', name: 'many', fields, rows },
          { id: 'pbc_10', name: 'last', fields },
        ],
        files: { 'pbc_9/r00000000000007/seven.txt': 'seven' },
      });
      const data = temporaryFolder(t);
      const { postgres, masterKey } = await testConfig(data);
      const options = {
        data,
        postgres: postgres?.url,
        key: masterKey.text ?? '',
        directory,
        collection: 'many',
        point,
      };
      const died = await startChild(t, 'test/faults/dying-import.ts', [
        JSON.stringify(options satisfies DyingImport),
      ]);
      assert.equal(died.line, undefined);
      const { code, stdout, stderr } = await runCommandOver(data, ['import', 'pocketbase', directory]);
      assert.deepEqual([code, stderr], [0, '']);
      const wasDone = point === 'collection' ? ' (by an earlier run)' : ', 1 files (5 bytes)';
      assert.match(stdout, new RegExp(RegExp.escape(`  many: ${count} of ${count} records${wasDone}\n`)));
      assert.match(stdout, /users: 0 of 0 records \(by an earlier run\)/);
      const service = await startService(t, { data });
      const path = '/api/collections/many/records?perPage=1&sort=';
      const [first, last] = [
        await service.request(`${path}@rowid`, { token: true }),
        await service.request(`${path}-@rowid`, { token: true }),
      ];
      assert.deepEqual([first.json.totalItems, first.json.items[0].number], [count, 0]);
      assert.equal(last.json.items[0].number, count - 1);
      assert.equal((await service.request('/api/collections/last', { token: true })).status, 200);
      const storage = await service.withInstance('default', async ({ id }) => storageOf(service, id));
      assert.deepEqual(readdirSync(`${storage}/pbc_9/r00000000000007`), ['seven.txt']);
    });
});
