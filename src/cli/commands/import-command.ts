import { join } from 'node:path';
import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import type { DataDirectory } from '../../open-data-directory.ts';
import { dataFlags } from '../../config/config-flags.ts';
import type {
  ImportProgress,
  ImportSummary,
  PocketbaseImport,
} from '../../transfer/pocketbase/import-pocketbase.ts';
import type { Omission } from '../../transfer/pocketbase/omissions.ts';
import type { Instance } from '../../instances/instance.ts';
import type { InstanceEntry } from '../../instances/instance-rows.ts';
import { addFlags, configOf, flagsOf, isSet } from '../terminal/flags.ts';
import { type CommandIo, print, showLine } from '../terminal/print.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { ArchiveUse } from '../../transfer/archive/import-archive.ts';
import type { ResumedImport } from '../../transfer/archive/filling-progress.ts';
import { addPassphraseFlag, readPassphrase } from '../terminal/read-passphrase.ts';
import { placeOf, withDataDirectory, withInstance } from '../api/with-instance.ts';

/** `import pocketbase|archive` */
export function importCommand(io: CommandIo): Command {
  const command = new Command('import').description('import an archive, or from another service');
  const pocketbase = command
    .command('pocketbase')
    .description('import a data directory of PocketBase 0.23 or newer');
  pocketbase.argument('<dir>', 'the pb_data directory, which is only read');
  addFlags(pocketbase, dataFlags);
  pocketbase.option('--instance <SLUG>', 'the instance, which must be empty', 'default');
  pocketbase.option('--dry-run', 'only show what would be imported and left out');
  pocketbase.option('--encryption-key <KEY>', 'the 32-character key that encrypts its settings');
  pocketbase.option('--rotate-tokens', 'generate new token secrets: everyone has to sign in again');
  pocketbase.action(async (directory: string) => {
    const flags = flagsOf(pocketbase);
    const place = placeOf(pocketbase, io);
    const isDryRun = flags['dry-run'] === true;
    const encryptionKey = flags['encryption-key'];
    // Imported on demand: a server never needs it.
    const { importPocketbase, requireImportable } =
      await import('../../transfer/pocketbase/import-pocketbase.ts');
    const optionsOf = (instance: Instance, data: DataDirectory): PocketbaseImport => ({
      instance,
      control: data.home.control,
      directory,
      storage: join(place.config.files.folder, instance.id, 'storage'),
      isDryRun,
      rotateTokens: flags['rotate-tokens'] === true,
      encryptionKey: typeof encryptionKey === 'string' ? encryptionKey : undefined,
      onProgress: (progress) => showLine(io, progressText(progress)),
    });
    const summary = await withInstance(
      place,
      (instance, data) => importPocketbase(optionsOf(instance, data)),
      isDryRun
        ? 'work elsewhere'
        : { rehearse: (instance, data) => requireImportable(optionsOf(instance, data)) },
    );
    showLine(io, '');
    await print(io, summaryText(summary, isDryRun));
  });
  command.addCommand(archiveCommand(io));
  return command;
}

/** `import archive FILE` */
function archiveCommand(io: CommandIo): Command {
  const command = new Command('archive').description('create an instance from an archive of `export`');
  command.argument('<file>', 'the archive, which is only read');
  addFlags(command, dataFlags);
  command.option('--as <SLUG>', 'slug of the new instance; the one in the archive by default');
  command.option('--host <HOST>', 'the host it answers on');
  command.option('--copy', 'import a second instance beside the original, with paused endpoints');
  command.option('--backup', 'import a backup: changes made after it are lost');
  command.option('--restart', 'begin again, and do not go on where an import was cut off');
  addPassphraseFlag(command, 'file with the passphrase of the export');
  command.action(async (path: string) => {
    const { as: slug, host } = flagsOf(command);
    const config = configOf(command, io);
    const { importArchive } = await import('../../transfer/archive/import-archive.ts');
    const passphrase = await readPassphrase(command);
    let resumed: ResumedImport | undefined;
    const work = (data: DataDirectory): Promise<InstanceEntry> =>
      importArchive(
        { data, folder: config.files.folder, clock: systemClock },
        {
          path,
          passphrase,
          as: useOf(command),
          resumes: isSet(command, 'restart') ? 'begins again' : 'goes on',
          onResumed: (stored) => (resumed = stored),
          slug: typeof slug === 'string' ? slug : undefined,
          host: typeof host === 'string' ? host.toLowerCase() : null,
          onProgress: ({ what, count, share }) =>
            showLine(io, `${Math.floor(share * 100)} %  ${what}: ${count}`),
        },
      );
    const instance = await withDataDirectory(config, work, 'fail');
    showLine(io, '');
    if (resumed !== undefined)
      await print(
        io,
        `Went on with an import that was cut off: ${resumed.rows} rows and ${resumed.files} files were there already.\n`,
      );
    await print(io, `Instance ${instance.slug} imported with the id ${instance.shownId}.\n`);
  });
  return command;
}

/** Throws ConfigError for both. */
function useOf(command: Command): ArchiveUse {
  const [isCopy, isBackup] = [isSet(command, 'copy'), isSet(command, 'backup')];
  if (isCopy && isBackup) throw new ConfigError('Give --copy or --backup, not both.');
  if (isCopy) return 'copy';
  return isBackup ? 'backup' : 'moved';
}

function progressText(progress: ImportProgress): string {
  const { collection } = progress;
  return progress.kind === 'records'
    ? `${collection}: ${progress.done} of ${progress.of} records`
    : progress.kind === 'files'
      ? `${collection}: files`
      : '';
}

function summaryText({ collections, omissions }: ImportSummary, isDryRun: boolean): string {
  const lines = collections.map(({ name, rows, records, files, bytes, wasDone }) => {
    const ofFiles = files === 0 ? '' : `, ${files} files (${bytes} bytes)`;
    return `  ${name}: ${records} of ${rows} records${ofFiles}${wasDone ? ' (by an earlier run)' : ''}`;
  });
  const textsOf = (section: Omission['kind']): readonly string[] =>
    omissions.filter(({ kind }) => kind === section).map(omissionText);
  const [left, toLookAt] = [textsOf('left out'), textsOf('to look at')];
  const total = collections.reduce((sum, { records }) => sum + records, 0);
  const verb = isDryRun ? 'Would import' : 'Imported';
  return [
    `${verb} ${collections.length} collections with ${total} records.`,
    ...lines,
    ...(left.length === 0 ? ['Nothing is left out.'] : ['Left out:', ...left]),
    ...(toLookAt.length === 0 ? [] : ['To look at:', ...toLookAt]),
    '',
  ]
    .map(printable)
    .join('\n');
}

function omissionText({ of, what, why, count, examples }: Omission): string {
  const which =
    examples.length === 0 ? '' : ` [${examples.join(', ')}${count > examples.length ? ', …' : ''}]`;
  return `  ${of}: ${what}${count > 1 ? ` (${count} times)` : ''}: ${why}${which}`;
}
