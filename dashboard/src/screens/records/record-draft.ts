import { useState } from 'react';
import type { Collection, Field, RecordModel } from '../../api/client.ts';
import { basePath } from '../../api/client.ts';
import type { RecordChanges } from '../../api/records.ts';
import { readText, writeText } from '../../browser/preferences.ts';

/** What somebody has changed in a record and not saved: members as their editors hold them. */
export type DraftValues = Readonly<Record<string, unknown>>;

/** Files to take away from a field, by name, and files to add to it. They cannot be kept over a reload, unlike everything else. */
export class FileChange {
  readonly removed: readonly string[];
  readonly added: readonly File[];
  /** The stored files in another order than before. */
  readonly order: readonly string[] | undefined;

  constructor(removed: readonly string[], added: readonly File[], order?: readonly string[]) {
    this.removed = removed;
    this.added = added;
    this.order = order;
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

/** The draft of a record. It is kept on this machine until it is saved or discarded: over a reload, and while other records are looked at. */
export function useDraft(collection: Collection, id: string | undefined, etag: string) {
  const key = `chancery:${basePath}:draft:${collection.id}:${id ?? 'new'}`;
  const [draft, setDraft] = useState(() => decodeDraft(readText(key)));
  const keep = (next: KeptDraft): void => {
    setDraft(next);
    const values = Object.entries(next.values).filter(([, value]) => !(value instanceof FileChange));
    writeText(
      key,
      values.length === 0
        ? undefined
        : JSON.stringify({ etag: next.etag, values: Object.fromEntries(values) }),
    );
  };
  const names = Object.keys(draft.values);
  return {
    values: draft.values,
    count: names.length,
    /** What the record was when the first of these changes was made. */
    etag: names.length === 0 ? etag : draft.etag,
    /** Sets a member; `undefined` takes its change back. */
    set: (name: string, value: unknown) => {
      const { [name]: _before, ...others } = draft.values;
      const values = value === undefined ? others : { ...others, [name]: value };
      keep({ etag: names.length === 0 ? etag : draft.etag, values });
    },
    /** Goes on from another revision, with the same changes. */
    rebase: (next: string) => keep({ ...draft, etag: next }),
    clear: () => keep(noDraft),
  };
}

export type Draft = ReturnType<typeof useDraft>;

function decodeDraft(text: string | null): KeptDraft {
  if (text === null) return noDraft;
  try {
    // Only written by `keep`.
    return JSON.parse(text) as KeptDraft;
  } catch {
    return noDraft;
  }
}

/** The value that an editor begins with. */
export function editedValue(field: Field, record: RecordModel | undefined): unknown {
  const value = record?.[field.name];
  if (field.type === 'json') return record === undefined ? '' : (JSON.stringify(value, null, 2) ?? '');
  if (field.type === 'number') return typeof value === 'number' ? String(value) : '';
  return value;
}

/** A member that the API would not understand. */
export class DraftError extends Error {
  readonly field: string;

  constructor(field: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.field = field;
  }
}

/** Returns what is sent for a draft. Throws DraftError for JSON that is none: the service would take it for a text. */
export function toChanges(collection: Collection, values: DraftValues, isNew: boolean): RecordChanges {
  const changes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const field = collection.fields.find((one) => one.name === name);
    if (field === undefined) continue;
    if (value instanceof FileChange) Object.assign(changes, fileMembers(field, value, isNew));
    else if (field.type === 'json') changes[name] = parseJson(name, String(value));
    // What is no number goes as it is: the service says what it expected.
    else if (field.type === 'number') changes[name] = Number.isNaN(Number(value)) ? value : Number(value);
    else changes[name] = value;
    if (field.type === 'password' && collection.type === 'auth') changes[`${name}Confirm`] = value;
  }
  return changes;
}

function fileMembers(
  field: Field,
  { removed, added, order }: FileChange,
  isNew: boolean,
): Record<string, unknown> {
  const { name } = field;
  if (isNew) return { [name]: added };
  const isSingle = field.type === 'file' && field.maxSelect <= 1;
  if (isSingle && added.length > 0) return { [name]: added[0] };
  if (order !== undefined) return { [name]: [...order.filter((one) => !removed.includes(one)), ...added] };
  return {
    ...(added.length > 0 && { [`${name}+`]: added }),
    ...(removed.length > 0 && { [`${name}-`]: removed }),
  };
}

function parseJson(name: string, text: string): unknown {
  if (text.trim() === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DraftError(name, `Invalid JSON: ${reason}`, { cause: error });
  }
}
