import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fileKey, fileNames, noteRemovals } from '../files/file-removals.ts';
import { recordTable } from './record-table.ts';
import type { WriteScope } from './record-write.ts';

interface FileChange {
  readonly collection: Collection;
  /** Of the record. */
  readonly id: string;
  /** Absent for a record that is made. */
  readonly before?: readonly StoredValue[];
  /** Absent for a record that is deleted. */
  readonly after?: readonly StoredValue[];
}

type Step = () => Promise<unknown>;

/** Returns the steps by which files follow a change of their record, in its transaction: those that it does not name any more are to be removed. */
export function fileSteps({ instance, tx }: WriteScope, change: FileChange): readonly Step[] {
  const { files } = recordTable(change.collection);
  if (files.length === 0) return [];
  const { collection, id, before, after } = change;
  const gone = files.flatMap(({ index, field }) => {
    if (before === undefined || before[index] === after?.[index]) return [];
    const stay = new Set(fileNames(field, after?.[index] ?? null));
    return fileNames(field, before[index] ?? null).filter((name) => !stay.has(name));
  });
  if (gone.length === 0) return [];
  const now = instance.dueClock.now();
  const keys = gone.map((name) => fileKey(collection.id, id, name));
  return [
    async () => {
      await noteRemovals(tx, keys, now);
      tx.afterCommit(() => instance.files.noteDue(now));
    },
  ];
}
