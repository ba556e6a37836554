import { join } from 'node:path';
import { auditLogOf } from '../audit/audit-log.ts';
import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { usersCollection } from '../instances/users-collection.ts';
import type { Database } from '../storage/database.ts';
import { forgetCollection } from '../webhooks/change-endpoint.ts';
import { copyFiles, type CopiedFiles } from './copy-files.ts';
import { importCollection, readRecords } from './import-collection.ts';
import { importSettings } from './import-settings.ts';
import {
  claimSource,
  readImportState,
  requireEmpty,
  requireImportState,
  requireUnclaimed,
  writeImportState,
  type ImportState,
} from './import-state.ts';
import { Omissions, type Omission } from './omissions.ts';
import { planImport, type PlannedCollection } from './plan-import.ts';
import { openPocketbaseSource, type PocketbaseSource } from './pocketbase-source.ts';
import { tellOfEqualRecords } from './tell-of-equal-records.ts';

/**
 * Everything of a PocketBase data directory into one instance.
 *
 *   DIR ── pocketbase-source ──► definitions ── plan-import ──► collections of ours, and what has to be left out
 *                └── data.db, through storage/foreign-sqlite ── record-reader ──► values of ours
 *   for each collection: copy-files, then one transaction (import-collection) that says in import-state that it is done
 *
 * Whoever dies in between is run again, and goes on behind the last collection that is complete. The source is only read.
 */
export interface PocketbaseImport {
  readonly instance: Instance;
  /** Of the whole service. */
  readonly control: Database;
  readonly directory: string;
  /** Where the instance keeps files of records. */
  readonly storage: string;
  readonly isDryRun: boolean;
  readonly rotateTokens: boolean;
  readonly encryptionKey: string | undefined;
  readonly onProgress: (progress: ImportProgress) => void;
}

/** In this order for each collection. May await nothing. */
export type ImportProgress =
  | { readonly kind: 'files'; readonly collection: string }
  | { readonly kind: 'records'; readonly collection: string; readonly done: number; readonly of: number }
  | { readonly kind: 'collection'; readonly collection: string };

export interface ImportSummary {
  readonly collections: readonly CollectionSummary[];
  readonly omissions: readonly Omission[];
}

export interface CollectionSummary extends CopiedFiles {
  readonly name: string;
  /** Rows of the source. */
  readonly found: number;
  /** Records that are here now, or in a dry run could be. */
  readonly records: number;
  /** Whether an earlier run has made it. */
  readonly wasDone: boolean;
}

/** Throws bad_request for a source that cannot be read or imported, and an instance that is not empty: nothing was written then. */
export async function importPocketbase(options: PocketbaseImport): Promise<ImportSummary> {
  const source = await openPocketbaseSource(options.directory, options);
  try {
    const { instance, control, rotateTokens } = options;
    const state = await readImportState(instance.database);
    const resumed = state === undefined ? undefined : requireOwnState(state, source, options);
    if (resumed === undefined) await requireEmpty(instance, instance.database);
    if (!rotateTokens) await requireUnclaimed(control, source.fingerprint, instance);
    const omissions = new Omissions();
    const planned = planImport(source, { instance, rotateTokens, omissions });
    const settings = importSettings(instance.settings.current, source.settings, omissions);
    const run = { options, source, planned };
    if (options.isDryRun) return await look(run, omissions);
    if (!rotateTokens) await claimSource(control, source.fingerprint, instance);
    const begun = resumed ?? (await begin(run, settings));
    return await importAll(run, begun, omissions);
  } finally {
    source.database.close();
  }
}

interface Run {
  readonly options: PocketbaseImport;
  readonly source: PocketbaseSource;
  readonly planned: readonly PlannedCollection[];
}

function requireOwnState(
  state: ImportState,
  { fingerprint }: PocketbaseSource,
  { instance: { slug }, rotateTokens }: PocketbaseImport,
): ImportState {
  if (state.isFinished)
    throw new AppError('bad_request', `Into the instance ${slug} something was imported already.`);
  if (state.fingerprint === fingerprint && state.rotateTokens === rotateTokens) return state;
  throw new AppError(
    'bad_request',
    `The instance ${slug} holds an unfinished import of another source, or with${state.rotateTokens ? '' : 'out'} --rotate-tokens.`,
  );
}

/** Until it is finished, the instance is this import's. */
function begin(
  { options, source, planned }: Run,
  settings: typeof options.instance.settings.current,
): Promise<ImportState> {
  const { instance, rotateTokens } = options;
  const { fingerprint } = source;
  const state: ImportState = { fingerprint, rotateTokens, isFinished: false, done: {} };
  return instance.database.write(
    async (tx) => {
      // As it was, and is now that nobody can write anything before this.
      await requireImportState(tx, undefined);
      await requireEmpty(instance, tx);
      await writeImportState(tx, state);
      // What a new instance has for its users: the source says what there is from now on.
      const users = instance.collections.find(usersCollection('').id);
      if (users !== undefined && !planned.some(({ existing }) => existing === users)) {
        await forgetCollection(tx, instance, users);
        await instance.collections.delete(tx, users);
      }
      await instance.settings.save(tx, settings);
      await auditLogOf(instance).append(tx, 'operator', { action: 'import' });
      return state;
    },
    { isExclusive: true },
  );
}

async function look(run: Run, omissions: Omissions): Promise<ImportSummary> {
  const collections: CollectionSummary[] = [];
  for (const planned of run.planned) {
    collections.push(await lookAt(run, planned, omissions));
    tellOfEqualRecords(run.source.database, planned, omissions);
  }
  return { collections, omissions: omissions.all() };
}

async function lookAt(
  run: Run,
  planned: PlannedCollection,
  omissions: Omissions,
): Promise<CollectionSummary> {
  const found = run.source.database.count(planned.source.name);
  const copied = await copy(run, planned, { to: undefined, omissions });
  let records = 0;
  for (const _ of recordsOf(run, planned, { omissions, of: found })) records += 1;
  return { name: planned.collection.name, found, records, wasDone: false, ...copied };
}

async function importAll(run: Run, begun: ImportState, omissions: Omissions): Promise<ImportSummary> {
  const { instance, storage } = run.options;
  const collections: CollectionSummary[] = [];
  let state = begun;
  for (const planned of run.planned) {
    const { id, name } = planned.collection;
    const done = state.done[id];
    if (done !== undefined) {
      // The run that made it was stopped before it could say what it left out.
      const seen = await lookAt(run, planned, omissions);
      collections.push({ ...seen, records: done, wasDone: true, files: 0, bytes: 0 });
      continue;
    }
    const found = run.source.database.count(planned.source.name);
    const copied = await copy(run, planned, { to: storage, omissions });
    // Or the work would find out at its end that it rests on definitions of before the last one, and be done twice.
    await instance.refresh();
    const imported = await importCollection({
      instance,
      source: run.source,
      planned,
      state,
      onRecords: (count) =>
        run.options.onProgress({ kind: 'records', collection: name, done: count, of: found }),
    });
    state = imported.state;
    omissions.addAll(imported.omissions);
    collections.push({ name, found, records: state.done[id] ?? 0, wasDone: false, ...copied });
    run.options.onProgress({ kind: 'collection', collection: name });
  }
  await instance.database.write(
    async (tx) => {
      await requireImportState(tx, state);
      await writeImportState(tx, { ...state, isFinished: true });
    },
    { isExclusive: true },
  );
  return { collections, omissions: omissions.all() };
}

function copy(
  run: Run,
  planned: PlannedCollection,
  { to, omissions }: { readonly to: string | undefined; readonly omissions: Omissions },
): Promise<CopiedFiles> {
  const { collection } = planned;
  run.options.onProgress({ kind: 'files', collection: collection.name });
  // What is wrong with the values is told when they are read for good.
  const records = recordsOf(run, planned, { omissions: new Omissions() });
  return copyFiles(records, { from: join(run.source.directory, 'storage'), to, collection, omissions });
}

function recordsOf(
  { options: { instance, onProgress }, source }: Run,
  planned: PlannedCollection,
  { omissions, of }: { readonly omissions: Omissions; readonly of?: number },
): ReturnType<typeof readRecords> {
  const { name } = planned.collection;
  const onRecords = (done: number): void => {
    if (of !== undefined) onProgress({ kind: 'records', collection: name, done, of });
  };
  return readRecords({ instance, source, planned, onRecords }, omissions);
}
