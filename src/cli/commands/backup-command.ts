import { Command } from 'commander';
import { backupName } from '../../backups/backup-names.ts';
import { isBackupName, type StoredBackup } from '../../backups/backup-place.ts';
import { openNamedPlace, openOwnPlace, type PlaceParts } from '../../backups/open-backup-place.ts';
import { systemClock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { requirePlace } from '../../config/backup-config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { backupAccountFlags, dataFlags, deletedDaysFlag } from '../../config/config-flags.ts';
import type { Config } from '../../config/config.ts';
import type { InstanceEntry } from '../../instances/instance-rows.ts';
import { type DataDirectory, onInstance } from '../../open-data-directory.ts';
import { withDataDirectory } from '../api/with-instance.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { addFlags, configOf, isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, print, showLine } from '../terminal/print.ts';
import { addPassphraseFlag, readPassphrase } from '../terminal/read-passphrase.ts';

/** `backup create|list|restore|verify` */
export function backupCommand(io: CommandIo): Command {
  const command = new Command('backup').description('create, list, restore and verify backups of instances');
  addCreate(command, io);
  addList(command, io);
  addRestore(command, io);
  addVerify(command, io);
  return command;
}

function addCreate(parent: Command, io: CommandIo): void {
  const command = parent
    .command('create')
    .description('back up one instance, or all of them, while they are in use');
  command.argument('[slug]', 'the instance');
  command.option('--all', 'all instances');
  command.option('--name <NAME>', 'name of the backup; an existing one is kept');
  command.option('--parallel <COUNT>', 'instances backed up at the same time; 2 by default');
  addPlaceFlags(command, 'to');
  addPassphraseFlag(command, 'file with a passphrase that seals the secrets instead of the master key');
  command.action(async (slug: string | undefined) => {
    const passphrase = await readPassphrase(command);
    const name = textOf(command, 'name');
    if (name !== undefined && !isBackupName(name))
      throw new ConfigError('--name has a-z, 0-9, - and _, and ends in .zip or .chancery.');
    const how = { kind: 'backup', passphrase, isSkipped: name !== undefined } as const;
    await forEach(command, io, {
      ...how,
      slug,
      nameOf: ({ slug: of }) => name ?? backupName(of, systemClock.now()),
    });
    const sealed =
      passphrase === undefined
        ? 'Secrets are sealed with the master key, which is not in the backup: keep it elsewhere.'
        : 'Secrets are sealed with the passphrase, which is not in the backup.';
    await print(io, `${sealed}\n`);
  });
}

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('list the backups of an instance, or of all of them');
  command.argument('[slug]', 'the instance');
  command.option('--all', 'all instances');
  addPlaceFlags(command, 'from');
  command.action(async (slug: string | undefined) => {
    const config = placeConfig(command, io, 'from');
    const place = textOf(command, 'from') ?? '';
    await withDataDirectory(
      config,
      async (data) => {
        for (const entry of instancesOf(data, command, slug))
          for (const { name, size, modifiedMs } of await listOf(data, config, { entry, place }))
            await print(
              io,
              `${entry.slug}  ${name}  ${toTimestamp(Math.floor(modifiedMs))}  ${mebibytes(size)}\n`,
            );
      },
      'fail',
    );
  });
}

function addRestore(parent: Command, io: CommandIo): void {
  const command = parent.command('restore').description('restore an instance from a backup');
  command.argument('<slug>', 'the instance, which may be in use');
  command.argument('[name]', 'the backup; the newest unless given');
  addPlaceFlags(command, 'from');
  addFlags(command, [deletedDaysFlag]);
  addPassphraseFlag(command, 'file with the passphrase of the backup');
  command.action(async (slug: string, name: string | undefined) => {
    const passphrase = await readPassphrase(command);
    await forEach(command, io, { kind: 'restore', slug, name, passphrase });
    const { deletedDays } = configOf(command, io);
    const until =
      deletedDays === 0 ? 'is removed within the hour' : `can be restored for ${deletedDays} days`;
    await print(
      io,
      `The previous state ${until}: chancery instance list --all shows it as a deleted instance.\n`,
    );
  });
}

function addVerify(parent: Command, io: CommandIo): void {
  const command = parent
    .command('verify')
    .description('restore a backup to a temporary place and compare every part');
  command.argument('[slug]', 'the instance');
  command.argument('[name]', 'the backup; the newest unless given');
  command.option('--all', 'the newest backup of every instance');
  addPlaceFlags(command, 'from');
  command.action(async (slug: string | undefined, name: string | undefined) => {
    await forEach(command, io, { kind: 'verify', slug, name });
  });
}

function addPlaceFlags(command: Command, flag: 'to' | 'from'): void {
  const text = 'a folder, or s3://bucket/prefix, in place of where the instance keeps its own';
  command.option(`--${flag} <PLACE>`, text);
  addFlags(command, [...dataFlags, ...backupAccountFlags]);
}

interface Work {
  readonly kind: 'backup' | 'restore' | 'verify';
  readonly slug: string | undefined;
  /** The backup; the newest unless given. */
  readonly name?: string | undefined;
  /** The name of a new backup. */
  readonly nameOf?: (entry: InstanceEntry) => string;
  /** Whether an instance that has a backup of this name is passed over. */
  readonly isSkipped?: boolean;
  readonly passphrase?: string | undefined;
}

/** Does the work for the instances that the command names, some at once, with a line for each. Throws where any has failed. */
async function forEach(command: Command, io: CommandIo, work: Work): Promise<void> {
  const flag = work.kind === 'backup' ? 'to' : 'from';
  const config = placeConfig(command, io, flag);
  const parallel = work.kind === 'backup' ? (numberOf(command, 'parallel', { min: 1, max: 64 }) ?? 2) : 1;
  const failures = await withDataDirectory(
    config,
    async (data) => {
      const entries = instancesOf(data, command, work.slug);
      const left = entries.values();
      let count = 0;
      const one = async (): Promise<void> => {
        for (const entry of left)
          if (!(await lineFor(io, { data, config }, { entry, work, place: textOf(command, flag) ?? '' })))
            count += 1;
      };
      await Promise.all(Array.from({ length: Math.min(parallel, entries.length) }, one));
      return count;
    },
    'fail',
  );
  if (failures > 0)
    throw new CommandError(exitCodes.no, `${failures} ${failures === 1 ? 'instance' : 'instances'} failed.`);
}

interface Place {
  readonly entry: InstanceEntry;
  /** Empty for where the instance keeps its own. */
  readonly place: string;
}

interface OpenData {
  readonly data: DataDirectory;
  readonly config: Config;
}

/** Prints what became of an instance. Returns false where it has failed. */
async function lineFor(
  io: CommandIo,
  opened: OpenData,
  one: Place & { readonly work: Work },
): Promise<boolean> {
  const startedMs = systemClock.now();
  try {
    const result = await workOn(io, opened, one);
    showLine(io, '');
    const took = `${((systemClock.now() - startedMs) / 1_000).toFixed(1)} s`;
    await print(
      io,
      `${one.entry.slug}  ${result.name}  ${result.note ?? `${mebibytes(result.bytes)}  ${took}`}\n`,
    );
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    showLine(io, '');
    await print(io, `${one.entry.slug}  failed: ${error.message}\n`);
    return false;
  }
}

interface Worked {
  readonly name: string;
  readonly bytes: number;
  readonly note?: string;
}

async function workOn(
  io: CommandIo,
  { data, config }: OpenData,
  { entry, place, work }: Place & { readonly work: Work },
): Promise<Worked> {
  const { kind, passphrase, isSkipped, nameOf } = work;
  const list = kind === 'backup' && isSkipped !== true ? [] : await listOf(data, config, { entry, place });
  const backup = nameOf?.(entry) ?? work.name ?? list[0]?.name;
  if (backup === undefined) throw new AppError('not_found', `There is no backup of ${entry.slug}.`);
  const existing = list.find(({ name }) => name === backup);
  if (kind === 'backup' && existing !== undefined)
    return { name: backup, bytes: existing.size, note: 'is there already' };
  // Imported on demand: other commands never need it.
  const { runJobHere } = await import('../../jobs/run-job-here.ts');
  const onProgress = ({ what, count }: { readonly what: string; readonly count: number }): void =>
    showLine(io, `${entry.slug}  ${what}: ${count}`);
  const job = { instance: entry.shownId, kind, backup, place, isAuto: false };
  const { bytes } = await runJobHere({ data, config, passphrase, onProgress }, job);
  return { name: backup, bytes };
}

function placeConfig(command: Command, io: CommandIo, flag: 'to' | 'from'): Config {
  const config = configOf(command, io);
  const place = textOf(command, flag);
  if (place !== undefined) requirePlace(flag, place, config.backups.account);
  return config;
}

/** Returns the instances that the command names. Throws ConfigError unless it names one, or all. */
function instancesOf(
  { directory }: DataDirectory,
  command: Command,
  slug: string | undefined,
): readonly InstanceEntry[] {
  const isAll = command.options.some((option) => option.name() === 'all') && isSet(command, 'all');
  if ((slug === undefined) !== isAll) throw new ConfigError('Name an instance, or all of them by --all.');
  if (slug === undefined) return directory.all().filter(({ state }) => state === 'active');
  const entry = directory.findBySlug(slug);
  if (entry === undefined) throw new AppError('not_found', `There is no instance ${slug}.`);
  return [entry];
}

async function listOf(
  data: DataDirectory,
  config: Config,
  { entry, place }: Place,
): Promise<readonly StoredBackup[]> {
  const parts: PlaceParts = { places: config.backups, requests: data.requests, clock: systemClock };
  if (place !== '') return openNamedPlace(place, entry.shownId, parts).list();
  return onInstance(data, entry, (instance) => openOwnPlace(instance, parts).list());
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
