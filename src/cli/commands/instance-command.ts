import { Command } from 'commander';
import type { DataDirectory } from '../../open-data-directory.ts';
import { dataFlags } from '../../config/config-flags.ts';
import type { InstanceEntry } from '../../instances/instance-directory.ts';
import { addFlags, configOf, flagsOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { onInstance, withDataDirectory } from '../api/with-instance.ts';

/** `instance create|list` */
export function instanceCommand(io: CommandIo): Command {
  const command = new Command('instance').description(
    'manage instances, each with its own records, superusers and endpoints',
  );

  const create = command.command('create').description('create an instance');
  create.argument('<slug>', 'its name in /i/SLUG/…');
  addFlags(create, dataFlags);
  create.option('--host <HOST>', 'the host it answers on');
  create.action(async (slug: string) => {
    const host = flagsOf(create)['host'];
    const work = (data: DataDirectory): Promise<InstanceEntry> =>
      createInstance(data, slug, typeof host === 'string' ? host.toLowerCase() : null);
    const entry = await withDataDirectory(configOf(create, io), work, { rehearse: work });
    await print(io, `Instance ${entry.slug} created with the id ${entry.id}.\n`);
  });

  const list = command.command('list').description('show all instances');
  addFlags(list, dataFlags);
  list.action(async () => {
    const all = async (data: DataDirectory): Promise<readonly InstanceEntry[]> => data.directory.all();
    const entries = await withDataDirectory(configOf(list, io), all, 'fail');
    const lines = entries.map(({ id, slug, host }) => `${id}  ${slug}${host === null ? '' : `  ${host}`}\n`);
    await print(io, lines.join(''));
  });
  return command;
}

/** Creates an instance, and opens it once so that its audit log begins with its creation. */
async function createInstance(
  data: DataDirectory,
  slug: string,
  host: string | null,
): Promise<InstanceEntry> {
  const entry = await data.directory.create(slug, host);
  const details = { slug, ...(host !== null && { host }) };
  await onInstance(data, entry, (instance) =>
    instance.database.write((tx) =>
      instance.audit.append(tx, 'operator', { action: 'instance.create', details }),
    ),
  );
  return entry;
}
