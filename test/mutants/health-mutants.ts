import type { Mutant } from './mutant.ts';

/** What the service says of storage that fails. */
export const healthMutants: readonly Mutant[] = [
  {
    name: 'a failed group of writes is noted',
    file: 'src/storage/sqlite/write-queue.ts',
    from: 'this.#options.onFailure?.(error);\n      this.#abandon(error);',
    to: 'this.#abandon(error);',
    tests: ['test/faults/disk.test.ts'],
  },
  {
    name: 'a read that meets damage is noted, and refused as not done',
    file: 'src/storage/sqlite/sqlite-database.ts',
    from: 'const error = asCertain(thrown);',
    to: 'const error = thrown;',
    tests: ['test/faults/damage.test.ts'],
  },
  {
    name: 'a commit that fails is not said to have left nothing',
    file: 'src/storage/sqlite/write-queue.ts',
    from: 'this.#isCommitting ? thrown : asCertain(thrown)',
    to: 'asCertain(thrown)',
    tests: ['test/faults/disk.test.ts'],
  },
  {
    name: 'a place is well only when its probe has succeeded',
    file: 'src/storage/storage-health.ts',
    from: 'if (places.delete(place)) places.add(place);',
    to: 'places.delete(place);',
    tests: ['test/faults/disk.test.ts'],
  },
  {
    name: 'a full disk of PostgreSQL is noted',
    file: 'src/storage/postgres/postgres-database.ts',
    from: 'this.#options.onFailure?.(error);\n      throw error;',
    to: 'throw error;',
    tests: ['test/nodes/damaged-server.test.ts'],
    engine: 'postgres',
  },
  {
    name: 'damage is audited',
    file: 'src/instances/report-damage.ts',
    from: "if (instance !== '') void audit(borrow, instance);",
    to: "if (instance === 'none') void audit(borrow, instance);",
    tests: ['test/faults/damage.test.ts'],
  },
  {
    name: 'a delete of a superuser has the reserve of a full disk',
    file: 'src/http/serve-route.ts',
    from: 'if (reserve === undefined || !isFull || !mayUseReserve) throw error;',
    to: 'if (reserve === undefined || isFull || !mayUseReserve) throw error;',
    tests: ['test/faults/full-disk.test.ts'],
    engine: 'sqlite',
  },
  {
    name: 'the reserve takes room while there is some',
    file: 'src/storage/sqlite/disk-reserve.ts',
    from: 'at < bytes;',
    to: 'at < 1;',
    tests: ['test/faults/full-disk.test.ts'],
    engine: 'sqlite',
  },
  {
    name: 'the log is folded while the reserve is free',
    file: 'src/storage/sqlite/disk-reserve.ts',
    from: 'this.#foldLog(instanceId);',
    to: 'void this.#foldLog;',
    tests: ['test/faults/full-disk.test.ts'],
    engine: 'sqlite',
  },
];
