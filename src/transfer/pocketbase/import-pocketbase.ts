import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import type { Collection } from '../../collections/collection.ts';
import type { Instance } from '../../instances/instance.ts';
import { usersCollection } from '../../instances/system-collections.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Database } from '../../storage/database.ts';
import { forgetCollection } from '../../deliveries/endpoints/forget-collection.ts';
import { type CopiedFiles, copyFiles } from './copy-files.ts';
import { importCollection, readRecords } from './import-collection.ts';
import { importSettings } from './import-settings.ts';
import {
  claimSource,
  type ImportState,
  readImportState,
  requireEmpty,
  requireImportState,
  requireUnclaimed,
  writeImportState,
} from './import-state.ts';
import { type Omission, Omissions } from './omissions.ts';
import { planImport, type PlannedCollection } from './plan-import.ts';
import { planViews } from './plan-views.ts';
import { openPocketbaseSource, type PocketbaseSource } from './pocketbase-source.ts';
import { reportDuplicates } from './record-inserter.ts';

/**
 * The map of this folder: imports a whole PocketBase data directory into one instance.
 *
 *   DIR ── pocketbase-source ──► definitions ── plan-import ──► our collections, and omissions
 *                └── data.db, through storage/foreign-sqlite ── record-reader ──► our values
 *   for each collection: copy-files, then one transaction (import-collection) that marks it as done in import-state
 *
 * An import that died is run again, and continues after the last complete collection. The source is only read.
 */
export interface PocketbaseImport {
  readonly instance: Instance;
  /** The database of the whole service, where sources are claimed. */
  readonly control: Database;
  readonly directory: string;
  /** The directory where the instance keeps files of records. */
  readonly storage: string;
  readonly isDryRun: boolean;
  readonly rotateTokens: boolean;
  readonly encryptionKey: string | undefined;
  readonly onProgress: (progress: ImportProgress) => void;
}

/** Reported in this order for each collection, synchronously. */
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
  /** Rows of the source table. */
  readonly rows: number;
  /** Records imported, or in a dry run importable. */
  readonly records: number;
  /** Whether an earlier run has imported it. */
  readonly wasDone: boolean;
}

/** Throws bad_request, before anything is written, for a source that cannot be read or imported and for an instance that is not empty. */
export function importPocketbase(options: PocketbaseImport): Promise<ImportSummary> {
  return withPlan(options, async ({ run, resumed, settings, omissions }) => {
    if (options.isDryRun) return look(run, omissions);
    const { instance, control, rotateTokens } = options;
    if (!rotateTokens) await claimSource(control, run.source.fingerprint, instance);
    const begun = resumed ?? (await begin(run, settings));
    return importAll(run, begun, omissions);
  });
}

/** Throws what {@link importPocketbase} throws before it reads any record. */
export function requireImportable(options: PocketbaseImport): Promise<void> {
  return withPlan(options, () => Promise.resolve());
}

interface Plan {
  readonly run: Run;
  /** The state of an import that is continued. */
  readonly resumed: ImportState | undefined;
  readonly settings: Settings;
  readonly omissions: Omissions;
}

async function withPlan<Result>(
  options: PocketbaseImport,
  work: (plan: Plan) => Promise<Result>,
): Promise<Result> {
  const source = await openPocketbaseSource(options.directory, options);
  try {
    const { instance, control, rotateTokens } = options;
    const state = await readImportState(instance.database);
    const resumed = state === undefined ? undefined : requireOwnState(state, source, options);
    if (resumed === undefined) await requireEmpty(instance, instance.database);
    if (!rotateTokens) await requireUnclaimed(control, source.fingerprint, instance);
    const omissions = new Omissions();
    const planned = planImport(source, { instance, rotateTokens, omissions });
    const own = instance.collections.all().filter(({ system }) => system);
    const tables = new Map(
      [...own, ...planned.map(({ collection }) => collection)].map((one) => [one.id, one]),
    );
    const views = await planViews(source.collections, [...tables.values()], { instance, omissions });
    const settings = importSettings(instance.settings.current, source.settings, omissions);
    return await work({ run: { options, source, planned, views }, resumed, settings, omissions });
  } finally {
    source.database.close();
  }
}

interface Run {
  readonly options: PocketbaseImport;
  readonly source: PocketbaseSource;
  readonly planned: readonly PlannedCollection[];
  /** Made at the end, when the tables are there that they read. */
  readonly views: readonly Collection[];
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

/** Reserves the instance for this import until the import is finished. */
function begin({ options, source, planned }: Run, settings: Settings): Promise<ImportState> {
  const { instance, rotateTokens } = options;
  const { fingerprint } = source;
  const state: ImportState = { fingerprint, rotateTokens, isFinished: false, done: {} };
  return instance.database.write(
    async (tx) => {
      // Checked again, inside the transaction: another process may have written since the first check.
      await requireImportState(tx, undefined);
      await requireEmpty(instance, tx);
      await writeImportState(tx, state);
      // A new instance has a users collection. It goes unless the source has one, which decides what there is from now on.
      const users = instance.collections.find(usersCollection('').id);
      if (users !== undefined && !planned.some(({ existing }) => existing === users)) {
        await forgetCollection(tx, instance, users);
        await instance.collections.delete(tx, users);
      }
      await instance.settings.save(tx, settings);
      await instance.audit.append(tx, 'operator', { action: 'import' });
      return state;
    },
    { isExclusive: true },
  );
}

async function look(run: Run, omissions: Omissions): Promise<ImportSummary> {
  const collections: CollectionSummary[] = [];
  for (const planned of run.planned) {
    collections.push(await summarize(run, planned, omissions));
    reportDuplicates(run.source.database, planned, omissions);
  }
  return { collections, omissions: omissions.all() };
}

async function summarize(
  run: Run,
  planned: PlannedCollection,
  omissions: Omissions,
): Promise<CollectionSummary> {
  const rows = run.source.database.count(planned.source.name);
  const copied = await copy(run, planned, { to: undefined, omissions });
  let records = 0;
  for (const _ of recordsOf(run, planned, { omissions, of: rows })) records += 1;
  return { name: planned.collection.name, rows, records, wasDone: false, ...copied };
}

async function importAll(run: Run, begun: ImportState, omissions: Omissions): Promise<ImportSummary> {
  const { instance, storage } = run.options;
  const collections: CollectionSummary[] = [];
  let state = begun;
  for (const planned of run.planned) {
    const { id, name } = planned.collection;
    const done = state.done[id];
    if (done !== undefined) {
      // The run that imported it was stopped before it could report its omissions, so they are collected again.
      const summary = await summarize(run, planned, omissions);
      collections.push({ ...summary, records: done, wasDone: true, files: 0, bytes: 0 });
      continue;
    }
    const rows = run.source.database.count(planned.source.name);
    const copied = await copy(run, planned, { to: storage, omissions });
    // Otherwise the work would find at its end that its definitions are older than the last import, and be run twice.
    await instance.refresh();
    const imported = await importCollection({
      instance,
      source: run.source,
      planned,
      state,
      onRecords: (count) =>
        run.options.onProgress({ kind: 'records', collection: name, done: count, of: rows }),
    });
    state = imported.state;
    omissions.addAll(imported.omissions);
    collections.push({ name, rows, records: state.done[id] ?? 0, wasDone: false, ...copied });
    run.options.onProgress({ kind: 'collection', collection: name });
  }
  await instance.database.write(
    async (tx) => {
      await requireImportState(tx, state);
      if (run.views.length > 0) await instance.collections.apply(tx, { created: run.views });
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
  // These omissions are discarded: problems of values are reported when the records are imported.
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
