import type { Caller } from '../access/caller.ts';
import { busy } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { chosenTexts } from '../fields/chosen-texts.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { mayWriteField } from '../fields/field.ts';
import { type FileOptions, firstProblem } from '../fields/file-field.ts';
import { claimUploads, fileKey, fileNames, isFileKey, noteRemovals } from '../files/file-removals.ts';
import { UploadedFile } from '../files/uploads.ts';
import type { Instance } from '../instances/instance.ts';
import { decodeRecord, newFilesOf, type RecordBody } from './decode-record.ts';
import { type FileField, recordTable } from './record-table.ts';
import type { WriteScope } from './record-write.ts';
import { StoredRecord, valueOf } from './record.ts';

/** The request that sends a record. */
interface RecordRequest {
  readonly caller: Caller;
  readonly body: RecordBody;
}

/**
 * Reserves the keys under which the new files of a body are stored, before the record that it describes is written. Returns the id that
 * the record must be created with. Returns undefined, and reserves nothing, when the body has no files, or when the record will be
 * rejected whatever is stored.
 */
export function reserveFileKeys(
  instance: Instance,
  collection: Collection,
  { caller, body }: RecordRequest,
): string | undefined {
  if (!recordTable(collection).files.some((fileField) => uploadsOf(body, fileField).length > 0))
    return undefined;
  const now = toTimestamp(instance.clock.now());
  const isSuperuser = caller.kind === 'superuser';
  const { values, problems } = decodeRecord(collection, body, { isSuperuser, now });
  if (problems.size > 0) return undefined;
  const id = String(valueOf(new StoredRecord(collection, 1, values), 'id'));
  reserveFileKeysOf(collection, id, { caller, body });
  return id;
}

/** As {@link reserveFileKeys}, for a record that may exist. Its values are not read, so only the files themselves can be rejected. */
export function reserveFileKeysOf(collection: Collection, id: string, { caller, body }: RecordRequest): void {
  const isSuperuser = caller.kind === 'superuser';
  const fields = recordTable(collection)
    .files.filter(({ field }) => mayWriteField(field, isSuperuser))
    .map((fileField) => ({
      files: uploadsOf(body, fileField),
      // A field's options were made by its type.
      options: fileField.field.options as FileOptions,
    }));
  const isRefused = fields.some(
    ({ files, options }) =>
      namedOf(files, options).length > chosenTexts.countMax(options) ||
      firstProblem(namedOf(files, options), options) !== undefined,
  );
  if (isRefused) return;
  for (const { files, options } of fields)
    for (const file of namedOf(files, options)) {
      const key = fileKey(collection.id, id, file.name);
      if (file.isComplete && isFileKey(key)) file.key = key;
    }
}

/** Of several files for a field of one, the last is stored. */
function namedOf(files: readonly UploadedFile[], { maxSelect }: FileOptions): readonly UploadedFile[] {
  return maxSelect > 1 ? files : files.slice(-1);
}

function uploadsOf(body: RecordBody, { field }: FileField): readonly UploadedFile[] {
  // The files of requests are all of this class.
  return newFilesOf(body, field.name).filter((file) => file instanceof UploadedFile);
}

interface FileChange {
  readonly collection: Collection;
  /** Of the record. */
  readonly id: string;
  /** Absent for a record that is made. */
  readonly before?: readonly StoredValue[];
  /** Absent for a record that is deleted. */
  readonly after?: readonly StoredValue[];
  /** What was sent, where the change comes from a client. */
  readonly body?: RecordBody | undefined;
}

type Step = () => Promise<unknown>;

/**
 * Returns the steps by which files follow a change of their record, in its transaction: new files that it names stay, files that it no longer
 * names are removed.
 */
export function fileSteps(scope: WriteScope, change: FileChange): readonly Step[] {
  const { files } = recordTable(change.collection);
  if (files.length === 0) return [];
  const steps: Step[] = [];
  const { instance, tx } = scope;
  const { claimed, removed } = changedFiles(files, change);
  const now = instance.dueClock.now();
  if (claimed.length > 0) steps.push(() => claimUploads(tx, claimed, now));
  if (removed.length > 0)
    steps.push(async () => {
      await noteRemovals(tx, removed, now);
      tx.afterCommit(() => instance.files.noteDue(now));
    });
  return steps;
}

interface ChangedFiles {
  /** Keys of uploads that the record names. */
  readonly claimed: readonly string[];
  /** Keys of files that it no longer names. */
  readonly removed: readonly string[];
}

/** Throws unavailable when an upload has another key than the record would give it, as its definition has changed since. */
function changedFiles(fileFields: readonly FileField[], change: FileChange): ChangedFiles {
  const { collection, id, before, after, body = {} } = change;
  const claimed: string[] = [];
  const removed: string[] = [];
  for (const fileField of fileFields) {
    const { index, field } = fileField;
    if (before?.[index] === after?.[index]) continue;
    const names = new Set(fileNames(field, after?.[index] ?? null));
    for (const name of fileNames(field, before?.[index] ?? null))
      if (!names.has(name)) removed.push(fileKey(collection.id, id, name));
    for (const { name, key } of uploadsOf(body, fileField)) {
      if (!names.has(name)) continue;
      if (key !== fileKey(collection.id, id, name)) throw busy(new Error('an upload has another key'));
      claimed.push(key);
    }
  }
  return { claimed, removed };
}
