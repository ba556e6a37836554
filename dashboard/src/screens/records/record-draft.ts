import { useState } from 'react';
import type { Collection } from '../../api/client.ts';
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
  /** The revision that the values were changed from; empty for a new record. */
  readonly etag: string;
  readonly values: DraftValues;
}

const noDraft: KeptDraft = { etag: '', values: {} };

/** The draft of a record. The tab keeps it until it is saved or discarded: over a reload, and while other records are looked at. */
export function useDraft(collection: Collection, id: string | undefined, etag: string) {
  const name = `record:${collection.id}:${id ?? 'new'}`;
  // Only `keep` writes it.
  const [draft, setDraft] = useState(() => (readKept(name) as KeptDraft | null) ?? noDraft);
  const keep = (next: KeptDraft): void => {
    setDraft(next);
    const values = Object.entries(next.values).filter(([, value]) => !(value instanceof FileChange));
    keepInTab(
      name,
      values.length === 0 ? undefined : { etag: next.etag, values: Object.fromEntries(values) },
    );
  };
  const names = Object.keys(draft.values);
  return {
    values: draft.values,
    count: names.length,
    /** What the record was when the first of these changes was made. */
    etag: names.length === 0 ? etag : draft.etag,
    /** Sets a member; `undefined` takes its change back. */
    set: (field: string, value: unknown) => {
      const { [field]: _before, ...others } = draft.values;
      const values = value === undefined ? others : { ...others, [field]: value };
      keep({ etag: names.length === 0 ? etag : draft.etag, values });
    },
    /** Goes on from another revision, with the same changes. */
    rebase: (next: string) => keep({ ...draft, etag: next }),
    clear: () => keep(noDraft),
  };
}

export type Draft = ReturnType<typeof useDraft>;
