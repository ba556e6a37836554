import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { isJsonObject, type JsonObject, withoutByteOrderMark } from '../../base/json.ts';
import { ConfigError } from '../../config/config-error.ts';
import { type Api, itemsOf, objectOf } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { confirm } from '../terminal/confirm.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { showItem, showJson, showList } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** `collection list|show|create|truncate|delete` */
export function collectionCommand(io: CommandIo): Command {
  const command = new Command('collection').description('manage collections');
  addList(command, io);
  addShow(command, io);
  addCreate(command, io);
  addTruncate(command, io);
  addDelete(command, io);
  return command;
}

/** Returns the path of a collection's definition. */
export function collectionPath(name: string): string {
  return `/api/collections/${encodeURIComponent(name)}`;
}

const pageSize = 500;

/** Returns the definitions of all collections, in the order of their creation. */
export async function readCollections(api: Api): Promise<readonly JsonObject[]> {
  const all: JsonObject[] = [];
  for (let page = 1; ; page += 1) {
    const query = { page, perPage: pageSize, skipTotal: 'true' };
    const items = itemsOf(await api.request('GET', '/api/collections', { query }));
    all.push(...items);
    if (items.length < pageSize) return all;
  }
}

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('show all collections');
  addApiFlags(command);
  command.action(async () => {
    const collections = await withApi(command, io, readCollections);
    const fields = { title: 'fields', of: (item: JsonObject) => fieldsOf(item).length };
    await showList(io, collections, {
      columns: ['name', 'type', 'id', 'system', fields],
      isJson: isSet(command, 'json'),
    });
  });
}

function addShow(parent: Command, io: CommandIo): void {
  const command = parent.command('show').description('show a definition');
  command.argument('<collection>', 'its name or id');
  addApiFlags(command);
  command.action(async (name: string) => {
    const definition = objectOf(
      await withApi(command, io, (api) => api.request('GET', collectionPath(name))),
    );
    if (isSet(command, 'json')) await showJson(io, definition);
    else await showItem(io, summaryOf(definition), { isJson: false });
  });
}

/** Returns what people want to see of a definition. A rule of null and an empty one are opposites. */
function summaryOf(definition: JsonObject): JsonObject {
  const { id, name, type, system, indexes } = definition;
  const rules = Object.entries(definition).filter(([member]) => member.endsWith('Rule'));
  const ruleEntries = rules.map(([member, rule]): [string, unknown] => [
    member,
    rule === null ? '(superusers only)' : rule === '' ? '(everyone)' : rule,
  ]);
  const fields = fieldsOf(definition).map(({ name: field, type: of }) => `${String(field)}:${String(of)}`);
  return { id, name, type, system, fields, ...Object.fromEntries(ruleEntries), indexes };
}

function fieldsOf({ fields }: JsonObject): readonly JsonObject[] {
  return Array.isArray(fields) ? fields.filter(isJsonObject) : [];
}

function addCreate(parent: Command, io: CommandIo): void {
  const command = parent.command('create').description('create a collection');
  command.argument('<name>').argument('[fields...]', 'NAME:TYPE, as title:text pages:number');
  command.option('--from <FILE>', 'the rest of the definition, as JSON; - is standard input');
  addApiFlags(command);
  command.action(async (name: string, args: readonly string[]) => {
    const file = textOf(command, 'from');
    const definition = file === undefined ? {} : await readDefinition(file, io);
    const fields = [...fieldsOf(definition), ...args.map(readField)];
    const body = { ...definition, name, fields };
    const answer = await withApi(command, io, (api) => api.request('POST', '/api/collections', { body }));
    const collection = objectOf(answer);
    if (isSet(command, 'json')) await showJson(io, collection);
    else await print(io, `Collection ${name} created with the id ${String(collection['id'])}.\n`);
  });
}

function readField(arg: string): JsonObject {
  const [, name, type] = /^([^:]+):([a-zA-Z0-9]+)$/.exec(arg) ?? [];
  if (name !== undefined && type !== undefined) return { name, type };
  throw new ConfigError(`Expected NAME:TYPE, as title:text, not ${JSON.stringify(arg)}.`);
}

async function readDefinition(file: string, { stdin }: CommandIo): Promise<JsonObject> {
  const input = file === '-' ? await text(stdin) : await readFile(file, 'utf8');
  try {
    const json: unknown = JSON.parse(withoutByteOrderMark(input));
    if (isJsonObject(json)) return json;
  } catch {
    // Said below.
  }
  const what = file === '-' ? 'Standard input' : file;
  throw new CommandError(exitCodes.refused, `${what} is not a JSON object.`);
}

function addTruncate(parent: Command, io: CommandIo): void {
  const command = parent.command('truncate').description('delete all records of a collection');
  command.argument('<collection>', 'its name or id');
  command.option('--yes', 'do not confirm');
  addApiFlags(command);
  command.action(async (name: string) => {
    await withApi(command, io, async (api) => {
      await requireCollection(api, name);
      const loss = `all records of ${name}`;
      await confirm(io, { loss, name, place: api.place }, isSet(command, 'yes'));
      await api.request('DELETE', `${collectionPath(name)}/truncate`);
    });
    await print(io, `All records of ${name} deleted.\n`);
  });
}

function addDelete(parent: Command, io: CommandIo): void {
  const command = parent.command('delete').description('delete a collection with its records');
  command.argument('<collection>', 'its name or id');
  command.option('--yes', 'do not confirm');
  addApiFlags(command);
  command.action(async (name: string) => {
    await withApi(command, io, async (api) => {
      await requireCollection(api, name);
      const loss = `the collection ${name} with all of its records`;
      await confirm(io, { loss, name, place: api.place }, isSet(command, 'yes'));
      await api.request('DELETE', collectionPath(name));
    });
    await print(io, `Collection ${name} deleted.\n`);
  });
}

/** Nobody should have to type the name of a collection that is not there. */
async function requireCollection(api: Api, name: string): Promise<void> {
  await api.request('GET', collectionPath(name), { query: { fields: 'id' } });
}
