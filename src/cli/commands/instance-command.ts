import { Command } from 'commander';
import { AppError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { dataFlags, deletedDaysFlag } from '../../config/config-flags.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { InstanceDirectory } from '../../instances/instance-directory.ts';
import { removalDue } from '../../instances/instance-removals.ts';
import {
  isServed,
  type Labels,
  type InstanceRow,
  type StoredInstance,
  unknownInstance,
  type InstanceEntry,
} from '../../instances/instance-rows.ts';
import type { AuditAction } from '../../logs/audit-entry.ts';
import { type DataDirectory, onInstance } from '../../open-data-directory.ts';
import { confirm } from '../terminal/confirm.ts';
import { addFlags, configOf, flagsOf, isSet } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { cloneCommand } from './clone-command.ts';
import { quotaCommand } from './quota-command.ts';
import { usageCommand } from './usage-command.ts';
import { withDataDirectory } from '../api/with-instance.ts';

/** `instance create|clone|list|rename|host|label|quota|usage|suspend|resume|delete|restore` */
export function instanceCommand(io: CommandIo): Command {
  const command = new Command('instance').description(
    'manage instances, each with its own records, superusers and endpoints',
  );
  addCreate(command, io);
  command.addCommand(cloneCommand(io));
  addList(command, io);
  addRename(command, io);
  addHost(command, io);
  addLabel(command, io);
  command.addCommand(quotaCommand(io));
  command.addCommand(usageCommand(io));
  addSuspend(command, io);
  addResume(command, io);
  addDelete(command, io);
  addRestore(command, io);
  return command;
}

function addCreate(parent: Command, io: CommandIo): void {
  const create = parent.command('create').description('create an instance');
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
}

/** Creates an instance, and opens it once so that its audit log begins with its creation. */
async function createInstance(
  data: DataDirectory,
  slug: string,
  host: string | null,
): Promise<InstanceEntry> {
  const entry = await data.directory.create(slug, host);
  await audit(data, entry, { action: 'instance.create', details: { slug, ...(host !== null && { host }) } });
  return entry;
}

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('show all instances');
  addFlags(command, [...dataFlags, deletedDaysFlag]);
  command.option('--all', 'also those that are deleted, or being imported');
  command.action(async () => {
    const config = configOf(command, io);
    const all = await withDataDirectory(config, ({ directory }) => directory.list(), 'fail');
    const instances = all.filter(({ state }) => isServed(state) || isSet(command, 'all'));
    await print(io, instances.map((one) => `${lineOf(one, config.deletedDays)}\n`).join(''));
  });
}

function lineOf(one: InstanceRow, deletedDays: number): string {
  const { id, slug, host, state } = one;
  const goes = `deleted, can be restored until ${toTimestamp(removalDue(one, deletedDays))}`;
  const words = {
    active: null,
    suspended: 'suspended',
    deleted: goes,
    emptying: removing,
    removing,
    filling: 'being imported',
    replacing: 'being replaced by a backup',
  };
  return [id, slug, host, words[state]].filter((part) => part !== null).join('  ');
}

const removing = 'deleted, is being removed';

function addRename(parent: Command, io: CommandIo): void {
  const command = parent.command('rename').description('give an instance another slug');
  command.argument('<old>').argument('<new>', 'its name in /i/SLUG/… from now on');
  addFlags(command, dataFlags);
  command.action(async (old: string, slug: string) => {
    await change(command, io, {
      slug: old,
      action: 'instance.rename',
      details: { before: old, slug },
      run: (directory, { id }) => directory.rename(id, slug),
    });
    await print(io, `Instance ${old} renamed to ${slug}.\n`);
  });
}

function addHost(parent: Command, io: CommandIo): void {
  const command = parent.command('host').description('bind an instance to a host, or to none');
  command.argument('<slug>').argument('<host>', 'the host that it answers on, or none');
  addFlags(command, dataFlags);
  command.action(async (slug: string, name: string) => {
    const host = name === 'none' ? null : name.toLowerCase();
    await change(command, io, {
      slug,
      action: 'instance.host',
      details: { host },
      run: (directory, { id }) => directory.setHost(id, host),
    });
    await print(
      io,
      host === null ? `Instance ${slug} is bound to no host.\n` : `Instance ${slug} is bound to ${host}.\n`,
    );
  });
}

function addLabel(parent: Command, io: CommandIo): void {
  const command = parent.command('label').description('show or set the labels of an instance');
  command.argument('<slug>').argument('[labels...]', 'as plan=pro; plan= removes a label');
  addFlags(command, dataFlags);
  command.action(async (slug: string, texts: readonly string[]) => {
    const changes = texts.map(toLabel);
    const labels = await withDataDirectory(
      configOf(command, io),
      (data) => labelInstance(data, slug, changes),
      'fail',
    );
    const lines = Object.entries(labels).map(([name, value]) => `${name}=${value}\n`);
    await print(io, lines.join(''));
  });
}

/** Returns the labels after these changes. */
async function labelInstance(
  data: DataDirectory,
  slug: string,
  changes: readonly (readonly [name: string, value: string])[],
): Promise<Labels> {
  const entry = findInstance(data, slug);
  const before = (await data.directory.list()).find(({ id }) => id === entry.id)?.labels ?? {};
  if (changes.length === 0) return before;
  const merged = Object.entries({ ...before, ...Object.fromEntries(changes) });
  const labels = Object.fromEntries(merged.filter(([, value]) => value !== ''));
  await data.directory.setLabels(entry.id, labels);
  await audit(data, entry, { action: 'instance.label', details: { labels } });
  return labels;
}

function toLabel(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw new ConfigError(`A label is NAME=VALUE, and ${JSON.stringify(text)} is not.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function addSuspend(parent: Command, io: CommandIo): void {
  const command = parent
    .command('suspend')
    .description('refuse all requests to an instance, and have its webhooks wait');
  command.argument('<slug>');
  addFlags(command, dataFlags);
  command.action(async (slug: string) => {
    const action = 'instance.suspend';
    await change(command, io, { slug, action, run: (directory, { id }) => directory.suspend(id) });
    await print(io, `Instance ${slug} is suspended.\n`);
  });
}

function addResume(parent: Command, io: CommandIo): void {
  const command = parent.command('resume').description('end the suspension of an instance');
  command.argument('<slug>');
  addFlags(command, dataFlags);
  command.action(async (slug: string) => {
    const action = 'instance.resume';
    await change(command, io, { slug, action, run: (directory, { id }) => directory.resume(id) });
    await print(io, `Instance ${slug} is active.\n`);
  });
}

function addDelete(parent: Command, io: CommandIo): void {
  const command = parent
    .command('delete')
    .description('delete an instance, which can be restored for a while');
  command.argument('<slug>');
  command.option('--yes', 'do not confirm');
  addFlags(command, [...dataFlags, deletedDaysFlag]);
  command.action(async (slug: string) => {
    const config = configOf(command, io);
    const place = config.postgres === undefined ? config.data : 'the PostgreSQL database';
    const { id } = await change(command, io, {
      slug,
      action: 'instance.delete',
      details: { slug },
      // Only now: nobody should have to type the slug of an instance that is not there.
      run: async (directory, entry) => {
        await confirm(io, { loss: `the instance ${slug}`, name: slug, place }, isSet(command, 'yes'));
        await directory.delete(entry.id);
      },
    });
    await print(io, `Instance ${slug} is deleted. To restore it: chancery instance restore ${id}\n`);
  });
}

function addRestore(parent: Command, io: CommandIo): void {
  const command = parent.command('restore').description('restore a deleted instance');
  command.argument('<slug-or-id>');
  addFlags(command, dataFlags);
  command.action(async (name: string) => {
    const restored = await withDataDirectory(
      configOf(command, io),
      async (data) => {
        const deleted = findDeleted(await data.directory.list(), name);
        await data.directory.restore(deleted.id);
        await audit(data, deleted, { action: 'instance.restore', details: { slug: deleted.slug } });
        return deleted;
      },
      'fail',
    );
    await print(io, `Instance ${restored.slug} is restored.\n`);
  });
}

/** Throws not_found, bad_request. */
function findDeleted(all: readonly StoredInstance[], name: string): StoredInstance {
  const deleted = all.filter(({ id, slug, state }) => !isServed(state) && (id === name || slug === name));
  const [only, ...others] = deleted;
  if (only === undefined) throw new AppError('not_found', `There is no deleted instance ${name}.`);
  if (others.length === 0) return only;
  const ids = deleted.map(({ id }) => id).join(', ');
  throw new AppError(
    'bad_request',
    `Several deleted instances had the slug ${name}: give an id, one of ${ids}.`,
  );
}

interface AuditedChange {
  readonly action: AuditAction;
  readonly details?: JsonObject;
}

interface InstanceChange extends AuditedChange {
  readonly slug: string;
  readonly run: (directory: InstanceDirectory, entry: InstanceEntry) => Promise<void>;
}

async function change(
  command: Command,
  io: CommandIo,
  { slug, run, ...audited }: InstanceChange,
): Promise<InstanceEntry> {
  const work = async (data: DataDirectory): Promise<InstanceEntry> => {
    const entry = findInstance(data, slug);
    await run(data.directory, entry);
    await audit(data, entry, audited);
    return entry;
  };
  return withDataDirectory(configOf(command, io), work, 'fail');
}

function findInstance({ directory }: DataDirectory, slug: string): InstanceEntry {
  const entry = directory.findBySlug(slug);
  if (entry === undefined) throw unknownInstance(slug);
  return entry;
}

async function audit(data: DataDirectory, entry: InstanceEntry, audited: AuditedChange): Promise<void> {
  await onInstance(data, entry, (instance) =>
    instance.database.write((tx) => instance.audit.append(tx, 'operator', audited)),
  );
}
