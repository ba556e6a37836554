import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { build } from '../../base/build.ts';
import { systemClock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { Config } from '../../config/config.ts';
import { dataFlags } from '../../config/config-flags.ts';
import type { InstanceEntry } from '../../instances/instance-rows.ts';
import type { DataDirectory } from '../../open-data-directory.ts';
import { addFlags, configOf } from '../terminal/flags.ts';
import { type CommandIo, print, showLine } from '../terminal/print.ts';
import { onInstance, withDataDirectory } from '../api/with-instance.ts';

/** `instance clone SLUG NEW` */
export function cloneCommand(io: CommandIo): Command {
  const command = new Command('clone').description('copy an instance, as it is now, into a new one');
  command.argument('<slug>', 'the instance, which may be in use');
  command.argument('<new>', 'the name of the copy in /i/NEW/…');
  addFlags(command, dataFlags);
  command.action(async (slug: string, copy: string) => {
    const config = configOf(command, io);
    const onProgress: OnProgress = ({ what, count }) => showLine(io, `${what}: ${count}`);
    const clone = (data: DataDirectory): Promise<InstanceEntry> =>
      cloneIn(data, config, { slug, copy, onProgress });
    const { id } = await withDataDirectory(config, clone, 'fail');
    showLine(io, '');
    await print(io, `Instance ${copy} cloned from ${slug}, with the id ${id}. Its endpoints are paused.\n`);
  });
  return command;
}

type OnProgress = (progress: { readonly what: string; readonly count: number }) => void;

interface Clone {
  readonly slug: string;
  readonly copy: string;
  readonly onProgress: OnProgress;
}

/** The copy goes through an archive in the folder for temporary files, which is removed at the end. */
async function cloneIn(
  data: DataDirectory,
  config: Config,
  { slug, copy, onProgress }: Clone,
): Promise<InstanceEntry> {
  const { home, directory, masterKey } = data;
  const entry = directory.findBySlug(slug);
  if (entry === undefined) throw new AppError('not_found', `There is no instance ${slug}.`);
  // Imported on demand: a server never needs it.
  const { exportInstance } = await import('../../transfer/archive/export-instance.ts');
  const { importArchive } = await import('../../transfer/archive/import-archive.ts');
  const folder = await mkdtemp(join(tmpdir(), 'chancery-clone-'));
  const path = join(folder, 'clone.chancery');
  const common = { home, clock: systemClock, onProgress };
  try {
    await onInstance(data, entry, (instance) =>
      exportInstance({
        ...common,
        instance,
        masterKey,
        version: build.version,
        to: createWriteStream(path, { mode: 0o600 }),
      }),
    );
    return await importArchive(
      { data, clock: systemClock, folder: config.files.folder },
      { path, slug: copy, host: null, as: 'copy', onProgress },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
