import { useState } from 'react';
import { basePath, type Collection, type Field } from '../../api/client.ts';
import type { CollectionInput } from '../../api/definitions.ts';
import { readText, writeText } from '../../browser/preferences.ts';

/** A definition that somebody is changing. */
export interface DefinitionDraft {
  /** What the changes began from. */
  readonly base: Collection;
  readonly next: Collection;
  /** The ids of fields to drop. They stay in `next`, so that they can be taken back. */
  readonly dropped: readonly string[];
}

/** The draft of a definition. It is kept on this machine until it is saved or discarded, over a reload as well. */
export function useDefinitionDraft(name: string, current: Collection) {
  const key = `chancery:${basePath}:schema:${name}`;
  const [kept, setKept] = useState(() => decodeDraft(readText(key)));
  const draft = kept ?? { base: current, next: current, dropped: [] };
  const keep = (next: DefinitionDraft | undefined): void => {
    const isEmpty = next === undefined || isUnchanged(next);
    setKept(isEmpty ? undefined : next);
    writeText(key, isEmpty ? undefined : JSON.stringify(next));
  };
  return {
    ...draft,
    isChanged: kept !== undefined,
    change: (members: Partial<Collection>) => keep({ ...draft, next: { ...draft.next, ...members } }),
    changeField: (field: Field) =>
      keep({
        ...draft,
        next: {
          ...draft.next,
          fields: draft.next.fields.map((one) => (one.id === field.id ? field : one)),
        },
      }),
    /** Takes a new field away at once; one that has data is marked. */
    drop: (id: string) => {
      const isNew = !draft.base.fields.some((field) => field.id === id);
      const fields = isNew ? draft.next.fields.filter((field) => field.id !== id) : draft.next.fields;
      const dropped = isNew ? draft.dropped : [...draft.dropped, id];
      keep({ base: draft.base, next: { ...draft.next, fields }, dropped });
    },
    restore: (id: string) => keep({ ...draft, dropped: draft.dropped.filter((one) => one !== id) }),
    /** Goes on from another definition with the same changes. */
    rebase: (base: Collection) => keep({ ...draft, base }),
    clear: () => keep(undefined),
  };
}

export type DraftHandle = ReturnType<typeof useDefinitionDraft>;

function isUnchanged({ base, next, dropped }: DefinitionDraft): boolean {
  return dropped.length === 0 && JSON.stringify(base) === JSON.stringify(next);
}

function decodeDraft(text: string | null): DefinitionDraft | undefined {
  if (text === null) return undefined;
  try {
    // Only written by `keep`.
    return JSON.parse(text) as DefinitionDraft;
  } catch {
    return undefined;
  }
}

/** The fields that will be there, in their order. */
export function remainingFields({
  next,
  dropped,
}: Pick<DefinitionDraft, 'next' | 'dropped'>): readonly Field[] {
  return next.fields.filter(({ id }) => !dropped.includes(id));
}

export function droppedFields({
  next,
  dropped,
}: Pick<DefinitionDraft, 'next' | 'dropped'>): readonly Field[] {
  return next.fields.filter(({ id }) => dropped.includes(id));
}

/** The definition as it will be, but for what the service adds. */
export function resultOf(draft: DefinitionDraft): Collection {
  const next = { ...draft.next, fields: remainingFields(draft) };
  return { ...next, indexes: indexesAfter(draft.base, next) };
}

/** What the service gets for a change of a definition. */
export function toInput(draft: DefinitionDraft): CollectionInput {
  const { created: _created, updated: _updated, system: _system, ...members } = resultOf(draft);
  if (members.type !== 'view') return members;
  // They follow from the query.
  const { fields: _fields, indexes: _indexes, ...ofView } = members;
  return ofView;
}

/**
 * The same for a new collection. Ids are left to the service, which makes them of types and names, so that the same definition has the
 * same ids everywhere; only a relation to the collection itself has to know one.
 */
export function toNewInput(draft: DefinitionDraft): CollectionInput {
  const { id, ...members } = toInput(draft);
  const refersToItself = draft.next.fields.some(
    (field) => field.type === 'relation' && field.collectionId === draft.next.id,
  );
  if (draft.next.type === 'view') return members;
  const isOfBase = (field: Field): boolean => draft.base.fields.some((one) => one.id === field.id);
  const fields = remainingFields(draft).map((field) => {
    if (field.system && isOfBase(field)) return field;
    const { id: _id, ...own } = field;
    return own;
  });
  return { ...members, fields, ...(refersToItself && id !== undefined && { id }) };
}

/** The definition in which rules are checked while it is made: without fields that are still to be filled in. */
export function toCheckedInput(draft: DefinitionDraft, isNew: boolean): CollectionInput {
  const input = isNew ? toNewInput(draft) : toInput(draft);
  const isComplete = (field: NonNullable<CollectionInput['fields']>[number]): boolean =>
    !(field.type === 'relation' && !field.collectionId) &&
    !(field.type === 'select' && (field.values ?? []).length === 0);
  const name = input.name === undefined || input.name === '' ? 'new_collection' : input.name;
  return { ...input, name, ...(input.fields && { fields: input.fields.filter(isComplete) }) };
}

/** Indexes follow renamed fields and collections: their texts are written with the names that were there before. */
function indexesAfter(base: Collection, next: Collection): readonly string[] {
  const renamed = new Map(
    base.fields.flatMap(({ id, name }) => {
      const now = next.fields.find((field) => field.id === id);
      return now === undefined || now.name === name ? [] : [[name, now.name] as const];
    }),
  );
  const gone = base.fields.filter(({ id }) => !next.fields.some((field) => field.id === id));
  return next.indexes
    .filter((text) => !(base.indexes.includes(text) && gone.some(({ name }) => text.includes(`\`${name}\``))))
    .map((text) => {
      const [, head = '', rest = text] = /^([\s\S]*?\bON\s+)[`"[]?\w+[`"\]]?([\s\S]*)$/i.exec(text) ?? [];
      if (head === '') return text;
      const columns = rest.replaceAll(
        /`(\w+)`/g,
        (all, name: string) => `\`${renamed.get(name) ?? all.slice(1, -1)}\``,
      );
      return `${head}\`${next.name}\`${columns}`;
    });
}
