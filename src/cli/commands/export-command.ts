import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { build } from '../../base/build.ts';
import { systemClock } from '../../base/clock.ts';
import { codeOf, syncDirectory } from '../../base/process.ts';
import { dataFlags } from '../../config/config-flags.ts';
import { messageOf } from '../../open-data-directory.ts';
import type { Manifest } from '../../transfer/archive/archive-format.ts';
import { exitCodes, CommandError } from '../terminal/command-error.ts';
import { ConfigError } from '../../config/config-error.ts';
import { addFlags, configOf, isSet } from '../terminal/flags.ts';
import { type CommandIo, print, showLine } from '../terminal/print.ts';
import { addPassphraseFlag, readPassphrase } from '../terminal/read-passphrase.ts';
import { withInstance } from '../api/with-instance.ts';

/** `export SLUG FILE` */
export function exportCommand(io: CommandIo): Command {
  const command = new Command('export').description('write an instance, as it is now, into an archive');
  command.argument('<slug>', 'the instance, which may be in use');
  command.argument('<file>', 'the archive, which must not exist: shop.chancery');
  addFlags(command, dataFlags);
  command.option('--template', 'only definitions and settings: an archive to make new instances of');
  addPassphraseFlag(command, 'file with a passphrase that seals the secrets instead of the master key');
  command.action(async (slug: string, file: string) => {
    const manifest = await exportTo(command, io, { slug, file });
    showLine(io, '');
    await print(io, summaryText(file, manifest));
  });
  return command;
}

async function exportTo(
  command: Command,
  io: CommandIo,
  { slug, file }: { readonly slug: string; readonly file: string },
): Promise<Manifest> {
  if (existsSync(file)) throw new CommandError(exitCodes.io, `${file} is there already: name another file.`);
  // Imported on demand: a server never needs it.
  const { exportInstance } = await import('../../transfer/archive/export-instance.ts');
  const place = { config: configOf(command, io), slug };
  const passphrase = await readPassphrase(command);
  const isTemplate = isSet(command, 'template');
  if (isTemplate && passphrase !== undefined)
    throw new ConfigError('A template has no secrets: give --template or --passphrase-file, not both.');
  const partial = `${file}.partial`;
  const target = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw new CommandError(exitCodes.io, `${partial} cannot be written: ${messageOf(error)}.`, {
      cause: error,
    });
  });
  try {
    const manifest = await withInstance(
      place,
      (instance, { home, masterKey }) =>
        exportInstance({
          instance,
          home,
          masterKey,
          clock: systemClock,
          passphrase,
          isTemplate,
          version: build.version,
          to: target.createWriteStream({ flush: true }),
          onProgress: ({ what, count }) => showLine(io, `${what}: ${count}`),
        }),
      'fail',
    );
    await rename(partial, file);
    await syncDirectory(dirname(file));
    return manifest;
  } catch (error) {
    await target.close();
    await rm(partial, { force: true });
    if (codeOf(error) !== 'ENOSPC') throw error;
    throw new CommandError(exitCodes.io, `There is no room for ${file}.`, { cause: error });
  }
}

function summaryText(file: string, { counts, created, key, template }: Manifest): string {
  const { collections, records, events, files } = counts;
  if (template === true)
    return `Exported the definitions and settings to ${file}, as of ${created}: ${collections} collections, without secrets.\n`;
  const lines = [
    `Exported to ${file}, as of ${created}:`,
    `${collections} collections, ${records} records, ${files} files, ${events} events.`,
  ];
  lines.push(
    key.kind === 'master'
      ? 'Secrets are sealed with the master key, which is not in the archive: keep it elsewhere.'
      : 'Secrets are sealed with the passphrase, which is not in the archive.',
  );
  return `${lines.join('\n')}\n`;
}
