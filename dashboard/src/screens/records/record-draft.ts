import { useState } from 'react';
import type { Collection, RecordModel } from '../../api/client.ts';
import { keepInTab, readKept } from '../../browser/tab-memory.ts';

/** What somebody has changed in a record and not saved: members as their editors hold them. */
export type DraftValues = Readonly<Record<string, unknown>>;

/** Files to take away from a field, by name, and files to add to it. They cannot be kept over a reload, unlike everything else. */
export class FileChange {
  readonly removed: readonly string[];
  readonly added: readonly File[];
  /** The stored files in another order than before. */
  readonly order: readonly string[] | undefined;

  constructor({ removed = [], added = [], order }: Partial<FileChange>) {
    this.removed = removed;
    this.added = added;
    this.order = order;
  }

  with(members: Partial<FileChange>): FileChange {
    return new FileChange({ removed: this.removed, added: this.added, order: this.order, ...members });
  }

  get isEmpty(): boolean {
    return this.removed.length === 0 && this.added.length === 0 && this.order === undefined;
  }
}

interface KeptDraft {
  readonly values: DraftValues;
  /** What the record had in these fields when each was first changed. */
  readonly before: Partial<RecordModel>;
}

const noDraft: KeptDraft = { values: {}, before: {} };

/**
 * The draft of a record. The tab keeps it until it is saved or discarded, over a reload and while other records are looked at, but for files
 * and passwords.
 */
export function useDraft(collection: Collection, record: RecordModel | undefined) {
  const name = `record:${collection.id}:${record?.id ?? 'new'}`;
  // Only `keep` writes it.
  const [draft, setDraft] = useState(() => (readKept(name) as KeptDraft | null) ?? noDraft);
  const keep = (next: KeptDraft): void => {
    setDraft(next);
    const passing = collection.fields.filter(({ type }) => type === 'file' || type === 'password');
    const values = without(
      next.values,
      passing.map((field) => field.name),
    );
    keepInTab(name, Object.keys(values).length === 0 ? undefined : { ...next, values });
  };
  const drop = (fields: readonly string[]): void =>
    keep({ values: without(draft.values, fields), before: without(draft.before, fields) });
  return {
    values: draft.values,
    before: draft.before,
    count: Object.keys(draft.values).length,
    /** Sets a member; `undefined` takes its change back. */
    set: (field: string, value: unknown) => {
      if (value === undefined) return drop([field]);
      const before = field in draft.values ? draft.before : { ...draft.before, [field]: record?.[field] };
      return keep({ values: { ...draft.values, [field]: value }, before });
    },
    /** Goes on from the record as somebody else has left it, with the same changes. */
    rebase: (next: RecordModel) => keep({ ...draft, before: pick(next, Object.keys(draft.values)) }),
    drop,
    clear: () => keep(noDraft),
  };
}

export type Draft = ReturnType<typeof useDraft>;

function without<Value>(
  members: Readonly<Record<string, Value>>,
  names: readonly string[],
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

function pick(record: RecordModel, names: readonly string[]): Partial<RecordModel> {
  return Object.fromEntries(names.map((name) => [name, record[name]]));
}
