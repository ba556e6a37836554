import { Command } from 'commander';
import { AppError } from '../../base/errors.ts';
import { dataFlags } from '../../config/config-flags.ts';
import { requireSlug } from '../../instances/require-slug.ts';
import type { DataDirectory } from '../../open-data-directory.ts';
import { addFlags, configOf } from '../terminal/flags.ts';
import { type CommandIo, print, showLine } from '../terminal/print.ts';
import { withDataDirectory } from '../api/with-instance.ts';

/** `instance clone SLUG NEW` */
export function cloneCommand(io: CommandIo): Command {
  const command = new Command('clone').description('copy an instance, as it is now, into a new one');
  command.argument('<slug>', 'the instance, which may be in use');
  command.argument('<new>', 'the name of the copy in /i/NEW/…');
  addFlags(command, dataFlags);
  command.action(async (slug: string, copy: string) => {
    requireSlug(copy);
    const config = configOf(command, io);
    const clone = async (data: DataDirectory): Promise<string | undefined> => {
      const instance = data.directory.findBySlug(slug)?.shownId;
      if (instance === undefined) throw new AppError('not_found', `There is no instance ${slug}.`);
      // Imported on demand: a server never needs it.
      const { runJobHere } = await import('../../jobs/run-job-here.ts');
      await runJobHere(
        { data, config, onProgress: ({ what, count }) => showLine(io, `${what}: ${count}`) },
        { instance, kind: 'clone', backup: copy, place: '', isAuto: false },
      );
      return data.directory.findBySlug(copy)?.shownId;
    };
    const id = await withDataDirectory(config, clone, 'fail');
    showLine(io, '');
    await print(io, `Instance ${copy} cloned from ${slug}, with the id ${id}. Its endpoints are paused.\n`);
  });
  return command;
}
