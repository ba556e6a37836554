import type { Mutant } from './mutant.ts';

/** What changes of tables promise, those that a thread makes as well. */
export const tableMutants: readonly Mutant[] = [
  {
    name: 'a long work awaits nothing but its tx',
    file: 'src/storage/sqlite/settle-long.ts',
    from: 'if (isWorking && thread.isIdle)',
    to: 'if (!isWorking && thread.isIdle)',
    tests: ['src/storage/sqlite/long-works.test.ts'],
  },
  {
    name: 'a thread writes no file that has taken the place of another',
    file: 'src/storage/sqlite/writer-worker.ts',
    from: 'inodeOf(path) === inode',
    to: "inodeOf(path) !== ''",
    tests: ['src/storage/sqlite/long-works.test.ts'],
  },
  {
    name: 'tables of a large file are altered by a thread',
    file: 'src/storage/sqlite/sqlite-database.ts',
    from: 'pages > quick.pagesMax',
    to: 'pages < 0',
    tests: ['src/storage/sqlite/long-works.test.ts'],
  },
  {
    name: 'a slow search waits for the commit of a thread',
    file: 'src/storage/sqlite/write-queue.ts',
    from: 'this.#longCommit = settled;',
    to: '',
    tests: ['src/storage/sqlite/long-works.test.ts'],
  },
  {
    name: 'readers see the state before while a thread commits',
    file: 'src/storage/sqlite/write-queue.ts',
    from: 'if (this.#isToSync) this.#options.holdView();\n      committedFromMs',
    to: 'committedFromMs',
    tests: ['test/faults/long-changes.test.ts'],
  },
  {
    name: 'a table that is made anew goes on with its positions',
    file: 'src/storage/sqlite/sqlite-names.ts',
    from: 'UPDATE sqlite_sequence SET name = ${to} WHERE name = ${from}',
    to: 'UPDATE sqlite_sequence SET name = ${from} WHERE name = ${to}',
    tests: ['test/api/table-changes.test.ts'],
  },
  {
    name: 'a plan that checks the records is rolled back',
    file: 'src/definitions/import-collections.ts',
    from: 'throw new Rehearsed(plan);',
    to: 'void Rehearsed;',
    tests: ['test/api/checked-plans.test.ts'],
  },
  {
    name: 'an API key that may not write does not hold up writes by a plan',
    file: 'src/http/routes/collections.ts',
    from: "if (!hasScope(caller, 'collections:write'))",
    to: 'if (false as boolean)',
    tests: ['test/api/checked-plans.test.ts'],
  },
];
