import type { Mutant } from './mutant.ts';

/** What is kept of older data before a newer version changes it. */
export const upgradeMutants: readonly Mutant[] = [
  {
    name: 'a new version lists the instances that it has to open',
    file: 'src/storage/sqlite/home.ts',
    from: 'await options.copies.beginUpgrade(file.database);',
    to: '',
    tests: ['test/process/upgrade.test.ts'],
  },
  {
    name: 'an instance that could not be upgraded stays listed',
    file: 'src/instances/instance-visits.ts',
    from: 'if (await this.#visit(id)) upgraded.push(id);',
    to: 'upgraded.push(id);\n        if (await this.#visit(id)) continue;',
    tests: ['test/process/due-index.test.ts'],
  },
  {
    name: 'a file that is older is copied before it is changed, whenever it is found',
    file: 'src/storage/migrate.ts',
    from: 'if (steps > 0) await beforeUpgrade?.(steps);',
    to: 'if (steps < 0) await beforeUpgrade?.(steps);',
    tests: ['test/process/upgrade.test.ts'],
  },
  {
    name: 'a copy is not begun without room for it',
    file: 'src/storage/sqlite/upgrade-copies.ts',
    from: 'await requireRoom(path);',
    to: 'void requireRoom;',
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
    name: 'what is left of a copy that failed is removed',
    file: 'src/storage/sqlite/upgrade-copies.ts',
    from: 'await rm(unfinished, { force: true });',
    to: 'void rm;',
    tests: ['src/storage/sqlite/upgrade-copies.test.ts'],
  },
];
