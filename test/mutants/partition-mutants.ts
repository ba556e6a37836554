import type { Mutant } from './mutant.ts';

/** Of the partitions of the log on PostgreSQL: that there always is one, and what goes with an old one. */
export const partitionMutants: readonly Mutant[] = [
  {
    name: 'a write for whose rows the log has no partition is run again when there is one',
    file: 'src/storage/postgres/postgres-database.ts',
    from: 'if (position !== undefined && partitions < partitionsMax) {',
    to: 'if (position !== undefined && partitions < 0) {',
    tests: ['src/storage/postgres/log-partitions.test.ts'],
  },
  {
    name: 'of those who would make the same partition one does',
    file: 'src/storage/postgres/log-partitions.ts',
    from: 'SELECT pg_advisory_xact_lock(${makingKey}), set_config',
    to: 'SELECT set_config',
    tests: ['src/storage/postgres/log-partitions.test.ts'],
  },
  {
    name: 'a partition goes only when everything in it is old',
    file: 'src/dispatch/nodes/partitions.ts',
    from: 'if (!isAllBefore(before)) return false;',
    to: '',
    tests: ['test/nodes/log-partitions.test.ts'],
    engine: 'postgres',
  },
  {
    name: 'what waits in a partition is given up before it goes',
    file: 'src/dispatch/nodes/partitions.ts',
    from: 'await giveUp(instanceId, { position, time });',
    to: 'giveUp.bind({ instanceId, position, time });',
    tests: ['test/nodes/log-partitions.test.ts'],
    engine: 'postgres',
  },
  {
    name: 'a partition stays while results of what was given up may still come',
    file: 'src/dispatch/nodes/partitions.ts',
    from: 'return left.length === 0 || isAllBefore(before - dayMs);',
    to: 'return true;',
    tests: ['test/nodes/log-partitions.test.ts'],
    engine: 'postgres',
  },
];
