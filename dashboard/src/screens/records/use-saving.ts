import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Collection, Failure, type RecordModel } from '../../api/client.ts';
import { createRecord, getRecord, recordQuery, type RevisedRecord, updateRecord } from '../../api/records.ts';
import { DraftError, toChanges } from './field-values.ts';
import { showChange } from './live-rows.ts';
import type { DraftValues } from './record-draft.ts';
import { offerUndoOfEdit } from './undo.ts';

interface SavingOptions {
  readonly collection: Collection;
  /** The record that the values were changed from; undefined for a new one. */
  readonly record: RecordModel | undefined;
  /** Its revision. Rows of a list have none: what they show is compared with the record as it is now. */
  readonly etag: string | undefined;
  /** What its controls hold. */
  readonly values: DraftValues;
  readonly onSaved: (saved: RevisedRecord) => void;
  /** The values are kept over those that somebody else has saved, and these are the ones they were changed from now. */
  readonly onKeep: (theirs: RevisedRecord) => void;
  /** The values are given up for those. */
  readonly onDrop: () => void;
}

export type Saving = ReturnType<typeof useSaving>;

/** Saves values, one attempt at a time. Where somebody else was first, nothing is saved until one of the versions is chosen. */
export function useSaving({ collection, record, etag, values, onSaved, onKeep, onDrop }: SavingOptions) {
  const queries = useQueryClient();
  const { name } = collection;
  const [error, setError] = useState<unknown>();
  const [conflict, setConflict] = useState<RevisedRecord>();
  const [isBusy, setIsBusy] = useState(false);
  const show = (saved: RevisedRecord): void => {
    queries.setQueryData(recordQuery(name, saved.record.id).queryKey, saved);
    showChange(queries, name, saved.record);
  };
  const clear = (): void => {
    setConflict(undefined);
    setError(undefined);
  };
  const update = async (seen: RecordModel): Promise<boolean> => {
    const changes = toChanges(collection, values, false);
    const before = etag === undefined ? await getRecord(name, seen.id) : { record: seen, etag };
    if (!isSame(collection, before.record, seen)) {
      setConflict(before);
      return false;
    }
    const after = await updateRecord({ collection: name, id: seen.id, etag: before.etag }, changes);
    show(after);
    onSaved(after);
    offerUndoOfEdit(queries, { collection, before, after, changes });
    return true;
  };
  const save = async (): Promise<boolean> => {
    if (isBusy || conflict !== undefined) return false;
    setIsBusy(true);
    setError(undefined);
    try {
      if (record !== undefined) return await update(record);
      onSaved(await createRecord(name, toChanges(collection, values, true)));
      return true;
    } catch (failure) {
      if (record === undefined || !(failure instanceof Failure && failure.status === 412)) setError(failure);
      else await getRecord(name, record.id).then(setConflict, setError);
      return false;
    } finally {
      setIsBusy(false);
    }
  };
  const resolve = (isKept: boolean): void => {
    if (conflict === undefined) return;
    show(conflict);
    clear();
    if (isKept) onKeep(conflict);
    else onDrop();
  };
  return { error, messages: messagesOf(error), conflict, isBusy, save, resolve, clear };
}

/** What is wrong with which field. */
function messagesOf(error: unknown): ReadonlyMap<string, string> {
  if (error instanceof DraftError) return new Map([[error.field, error.message]]);
  return error instanceof Failure ? error.fields : new Map();
}

/** Whether two answers have the same values. One of them may leave out fields. */
function isSame({ fields }: Collection, one: RecordModel, other: RecordModel): boolean {
  return fields.every(
    ({ name }) =>
      !(name in one && name in other) || JSON.stringify(one[name]) === JSON.stringify(other[name]),
  );
}
