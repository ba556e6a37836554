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
import { type FilePlace, recordTable } from './record-table.ts';
import type { WriteScope } from './record-write.ts';
import { StoredRecord, valueOf } from './record.ts';

/** What a client sent for a record. */
interface SentRecord {
  readonly caller: Caller;
  readonly body: RecordBody;
}

/**
 * Gives the new files of a body their places with the record that it describes, where they will be put before that is written. Returns
 * the id under which the record has to be made then. Returns undefined, and none gets a place, when there are none, or when the record
 * is going to be refused whatever is stored.
 */
export function placeForNew(
  instance: Instance,
  collection: Collection,
  { caller, body }: SentRecord,
): string | undefined {
  if (!recordTable(collection).files.some((place) => uploadsOf(body, place).length > 0)) return undefined;
  const now = toTimestamp(instance.clock.now());
  const isSuperuser = caller.kind === 'superuser';
  const { values, problems } = decodeRecord(collection, body, { isSuperuser, now });
  if (problems.size > 0) return undefined;
  const id = String(valueOf(new StoredRecord(collection, 1, values), 'id'));
  placeForKnown(collection, id, { caller, body });
  return id;
}

/** As {@link placeForNew}, for a record that may be there. It is not known yet, so only the files themselves can be refused. */
export function placeForKnown(collection: Collection, id: string, { caller, body }: SentRecord): void {
  const isSuperuser = caller.kind === 'superuser';
  const fields = recordTable(collection)
    .files.filter(({ field }) => mayWriteField(field, isSuperuser))
    // Made by the type of the field.
    .map((place) => ({ files: uploadsOf(body, place), options: place.field.options as FileOptions }));
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

function uploadsOf(body: RecordBody, { field }: FilePlace): readonly UploadedFile[] {
  // Those of requests are all of this class.
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
 * Returns the steps by which files follow a change of their record, in its transaction: new ones that it names are to stay, those that
 * it does not name any more are to be removed.
 */
export function fileSteps(scope: WriteScope, change: FileChange): readonly Step[] {
  const { files } = recordTable(change.collection);
  if (files.length === 0) return [];
  const steps: Step[] = [];
  const { instance, tx } = scope;
  const { claimed, gone } = changedFiles(files, change);
  const now = instance.dueClock.now();
  if (claimed.length > 0) steps.push(() => claimUploads(tx, claimed, now));
  if (gone.length > 0)
    steps.push(async () => {
      await noteRemovals(tx, gone, now);
      tx.afterCommit(() => instance.files.noteDue(now));
    });
  return steps;
}

interface ChangedFiles {
  /** Keys of uploads that the record names. */
  readonly claimed: readonly string[];
  /** Keys of files that it does not name any more. */
  readonly gone: readonly string[];
}

/** Throws unavailable when an upload is not in the place where the record would have it, as its definition has changed since. */
function changedFiles(places: readonly FilePlace[], change: FileChange): ChangedFiles {
  const { collection, id, before, after, body = {} } = change;
  const claimed: string[] = [];
  const gone: string[] = [];
  for (const place of places) {
    const { index, field } = place;
    if (before?.[index] === after?.[index]) continue;
    const names = new Set(fileNames(field, after?.[index] ?? null));
    for (const name of fileNames(field, before?.[index] ?? null))
      if (!names.has(name)) gone.push(fileKey(collection.id, id, name));
    for (const { name, key } of uploadsOf(body, place)) {
      if (!names.has(name)) continue;
      if (key !== fileKey(collection.id, id, name)) throw busy(new Error('an upload is in another place'));
      claimed.push(key);
    }
  }
  return { claimed, gone };
}
