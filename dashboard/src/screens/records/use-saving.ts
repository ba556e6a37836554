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
  /** The record that is changed; undefined for a new one. */
  readonly id: string | undefined;
  /** What its controls hold. */
  readonly values: DraftValues;
  /** What the record had in their fields when each was first changed. */
  readonly before: Partial<RecordModel>;
  readonly onSaved: (saved: RevisedRecord) => void;
  /** The values are kept over those that somebody else has saved, and these are the ones they were changed from now. */
  readonly onKeep: (theirs: RecordModel) => void;
  /** The values of these fields are given up for those. */
  readonly onDrop: (fields: readonly string[]) => void;
}

/** What somebody else has saved in fields that are changed here, too. */
interface Conflict {
  readonly theirs: RevisedRecord;
  readonly fields: readonly string[];
}

export type Saving = ReturnType<typeof useSaving>;

/** How often a record is looked at and changed before others who change it in between are reported as an error. */
const attemptsMax = 5;

/** Saves values, one attempt at a time. Where somebody else has changed the same fields, nothing is saved until one of the versions is chosen. */
export function useSaving({ collection, id, values, before, onSaved, onKeep, onDrop }: SavingOptions) {
  const queries = useQueryClient();
  const { name } = collection;
  const [error, setError] = useState<unknown>();
  const [conflict, setConflict] = useState<Conflict>();
  const [isBusy, setIsBusy] = useState(false);
  const show = (saved: RevisedRecord): void => {
    queries.setQueryData(recordQuery(name, saved.record.id).queryKey, saved);
    showChange(queries, name, saved.record);
  };
  const clear = (): void => {
    setConflict(undefined);
    setError(undefined);
  };
  const update = async (record: string, attempts = attemptsMax): Promise<boolean> => {
    const changes = toChanges(collection, values, false);
    const theirs = await getRecord(name, record);
    const fields = Object.keys(values).filter((field) => !isSame(theirs.record, before, field));
    if (fields.length > 0) {
      setConflict({ theirs, fields });
      return false;
    }
    try {
      const after = await updateRecord({ collection: name, id: record, etag: theirs.etag }, changes);
      show(after);
      onSaved(after);
      offerUndoOfEdit(queries, { collection, before: theirs, after, changes });
      return true;
    } catch (failure) {
      const isStale = failure instanceof Failure && failure.status === 412;
      if (!isStale || attempts === 1) throw failure;
      return update(record, attempts - 1);
    }
  };
  const save = async (): Promise<boolean> => {
    if (isBusy || conflict !== undefined) return false;
    setIsBusy(true);
    setError(undefined);
    try {
      if (id !== undefined) return await update(id);
      onSaved(await createRecord(name, toChanges(collection, values, true)));
      return true;
    } catch (failure) {
      setError(failure);
      return false;
    } finally {
      setIsBusy(false);
    }
  };
  const resolve = (isKept: boolean): void => {
    if (conflict === undefined) return;
    show(conflict.theirs);
    clear();
    if (isKept) onKeep(conflict.theirs.record);
    else onDrop(conflict.fields);
  };
  return { error, messages: messagesOf(error), conflict, isBusy, save, resolve, clear };
}

/** What is wrong with which field. */
function messagesOf(error: unknown): ReadonlyMap<string, string> {
  if (error instanceof DraftError) return new Map([[error.field, error.message]]);
  return error instanceof Failure ? error.fields : new Map();
}

/** Whether two answers have the same value. One of them may leave it out. */
function isSame(one: Partial<RecordModel>, other: Partial<RecordModel>, field: string): boolean {
  return !(field in one && field in other) || JSON.stringify(one[field]) === JSON.stringify(other[field]);
}
