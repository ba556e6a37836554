import type { Mutant } from './mutant.ts';

/** What is kept of older data before a newer version changes it. */
export const upgradeMutants: readonly Mutant[] = [
  {
    name: 'all files are copied before an upgrade changes one',
    file: 'src/storage/sqlite/home.ts',
    from: 'await copies.copyAll();',
    to: 'void copies;',
    tests: ['test/process/upgrade.test.ts'],
  },
  {
    name: 'a file that is older is copied before it is changed, whenever it is found',
    file: 'src/storage/migrate.ts',
    from: 'if (steps > 0) await beforeUpgrade?.(steps);',
    to: 'if (steps < 0) await beforeUpgrade?.(steps);',
    tests: ['test/process/upgrade.test.ts'],
  },
  {
    name: 'copies are not begun without room for all of them',
    file: 'src/storage/sqlite/upgrade-copies.ts',
    from: 'if (bytes <= bavail * bsize) return bytes;',
    to: 'if (bytes > 0) return bytes;',
    tests: ['src/storage/sqlite/upgrade-copies.test.ts'],
  },
  {
    name: 'a copy counts only if it has the steps that the file had',
    file: 'src/storage/sqlite/upgrade-copies.ts',
    from: 'if (readFrom(unfinished, stepsOf) === file.steps) {',
    to: 'if (file.steps > 0) {',
    tests: ['src/storage/sqlite/upgrade-copies.test.ts'],
  },
  {
    name: 'the copies that were made before one fails are removed',
    file: 'src/storage/sqlite/upgrade-copies.ts',
    from: 'for (const { unfinished } of copies) await rm(unfinished, { force: true });',
    to: 'void rm;',
    tests: ['src/storage/sqlite/upgrade-copies.test.ts'],
  },
];
