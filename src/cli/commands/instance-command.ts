import { Command } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { ConfigError } from '../../config/config-error.ts';
import { type Api, type ApiMethod, itemsOf, objectOf } from '../api/api.ts';
import { addListOptions, listQuery, showPage } from '../api/list-options.ts';
import {
  addInstance,
  addInstanceFlags,
  instancePath,
  instancesPath,
  showDone,
} from '../api/instance-path.ts';
import { withOperatorApi } from '../api/with-api.ts';
import { confirm } from '../terminal/confirm.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { type Column, showItem } from '../terminal/show.ts';
import { instanceAccessCommands } from './instance-access-commands.ts';
import { instanceCreateCommand } from './instance-create-command.ts';
import { instanceJobCommands } from './instance-job-commands.ts';
import { quotaCommand } from './quota-command.ts';
import { usageCommand } from './usage-command.ts';

/** `instance list|show|create|update|label|quota|usage|suspend|resume|clone|backup|backups|delete|restore|key|signin` */
export function instanceCommand(io: CommandIo): Command {
  const command = new Command('instance').description(
    'manage instances, each with its own records, superusers and endpoints',
  );
  addList(command, io);
  addShow(command, io);
  command.addCommand(instanceCreateCommand(io));
  addUpdate(command, io);
  addLabel(command, io);
  command.addCommand(quotaCommand(io));
  command.addCommand(usageCommand(io));
  addStep(command, io, {
    name: 'suspend',
    does: 'reject all requests to an instance, and hold its webhooks',
  });
  addStep(command, io, { name: 'resume', does: 'end the suspension of an instance' });
  for (const child of instanceJobCommands(io)) command.addCommand(child);
  addDelete(command, io);
  addStep(command, io, { name: 'restore', does: 'restore a deleted instance' });
  for (const child of instanceAccessCommands(io)) command.addCommand(child);
  return command;
}

const columns: readonly Column[] = [
  'id',
  'slug',
  'state',
  'host',
  { title: 'labels', of: ({ labels }) => labelLines(labels) },
  'created',
];

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('list instances');
  command.option('--all', 'also deleted ones, and until when they can be restored');
  addListOptions(command, { filter: "labels.plan = 'pro'", sort: '-created' });
  addInstanceFlags(command);
  command.action(async () => {
    const isAll = isSet(command, 'all');
    const query = listQuery(command, isAll ? [] : ["state != 'deleted'"]);
    const items = await withOperatorApi({ command, io }, async (api) =>
      itemsOf(await api.request('GET', instancesPath, { query })),
    );
    await showPage(io, command, { items, columns: isAll ? [...columns, 'restorableUntil'] : columns });
  });
}

function addShow(parent: Command, io: CommandIo): void {
  const command = parent.command('show').description('show an instance');
  addInstance(command);
  command.action(async (name: string) => {
    const item = await request(command, io, { method: 'GET', path: instancePath(name) });
    const isJson = isSet(command, 'json');
    const { labels, quotas } = item;
    const lines = { labels: labelLines(labels), quotas: labelLines(quotas) };
    await showItem(io, isJson ? item : { ...item, ...lines }, { isJson });
  });
}

function addUpdate(parent: Command, io: CommandIo): void {
  const command = parent.command('update').description('change the slug or the host of an instance');
  addInstance(command);
  command.option('--slug <SLUG>', 'its new name in /i/SLUG/…');
  command.option('--host <HOST>', 'the host it answers on, or none');
  command.action(async (name: string) => {
    const [slug, host] = [textOf(command, 'slug'), textOf(command, 'host')];
    if (slug === undefined && host === undefined)
      throw new ConfigError('Nothing to change: give --slug or --host.');
    const body = {
      ...(slug !== undefined && { slug }),
      ...(host !== undefined && { host: host === 'none' ? null : host }),
    };
    const item = await request(command, io, { method: 'PATCH', path: instancePath(name), body });
    const { host: newHost } = item;
    const place = typeof newHost === 'string' ? `host ${newHost}` : 'no host';
    await showDone(command, io, {
      item,
      line: `Instance ${name} updated: slug ${String(item['slug'])}, ${place}.`,
    });
  });
}

function addLabel(parent: Command, io: CommandIo): void {
  const command = parent.command('label').description('show or set the labels of an instance');
  addInstance(command);
  command.argument('[labels...]', 'NAME=VALUE; NAME= removes a label');
  command.action(async (name: string, texts: readonly string[]) => {
    const changes = Object.fromEntries(texts.map(toLabel));
    const path = instancePath(name);
    const item = await withOperatorApi({ command, io }, async (api) => {
      const before = objectOf(await api.request('GET', path));
      if (texts.length === 0) return before;
      const merged = { ...(isJsonObject(before['labels']) ? before['labels'] : {}), ...changes };
      const labels = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ''));
      return objectOf(await api.request('PATCH', path, { body: { labels } }));
    });
    const lines = labelLines(item['labels']).map((line) => `${line}\n`);
    if (isSet(command, 'json')) await showItem(io, item, { isJson: true });
    else await print(io, lines.join(''));
  });
}

function toLabel(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw new ConfigError(`A label is NAME=VALUE, not ${JSON.stringify(text)}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Returns labels or quotas as `plan=pro`. */
function labelLines(labels: unknown): readonly string[] {
  return Object.entries(isJsonObject(labels) ? labels : {}).map(
    ([name, value]) => `${name}=${String(value)}`,
  );
}

const states = { suspend: 'suspended', resume: 'active again', restore: 'restored' } as const;

function addStep(
  parent: Command,
  io: CommandIo,
  { name: step, does }: { readonly name: keyof typeof states; readonly does: string },
): void {
  const command = parent.command(step).description(does);
  addInstance(command);
  command.action(async (name: string) => {
    const item = await request(command, io, { method: 'POST', path: instancePath(name, `/${step}`) });
    await showDone(command, io, { item, line: `Instance ${String(item['slug'])} is ${states[step]}.` });
  });
}

function addDelete(parent: Command, io: CommandIo): void {
  const command = parent
    .command('delete')
    .description('delete an instance, which can be restored for some days');
  addInstance(command);
  command.option('--yes', 'do not confirm');
  command.action(async (name: string) => {
    const item = await withOperatorApi({ command, io }, (api) =>
      deleteInstance(api, { name, io, isSure: isSet(command, 'yes') }),
    );
    const { id, slug, restorableUntil } = item;
    const until = `It can be restored until ${String(restorableUntil)}: chancery instance restore ${String(id)}`;
    await showDone(command, io, { item, line: `Instance ${String(slug)} is deleted. ${until}` });
  });
}

interface Deletion {
  readonly name: string;
  readonly io: CommandIo;
  readonly isSure: boolean;
}

async function deleteInstance(api: Api, { name, io, isSure }: Deletion): Promise<JsonObject> {
  const path = instancePath(name);
  // First: nobody should have to type the slug of an instance that is not there.
  const { slug } = objectOf(await api.request('GET', path));
  await confirm(io, { loss: `the instance ${String(slug)}`, name: String(slug), place: api.place }, isSure);
  return objectOf(await api.request('DELETE', path));
}

/** Sends one request, and returns the instance that it is answered with. */
function request(
  command: Command,
  io: CommandIo,
  { method, path, body }: { readonly method: ApiMethod; readonly path: string; readonly body?: JsonObject },
): Promise<JsonObject> {
  return withOperatorApi({ command, io }, async (api) => objectOf(await api.request(method, path, { body })));
}
