import { Command } from 'commander';
import { printable } from '../../base/printable.ts';
import type { JsonObject } from '../../base/json.ts';
import { type Api, objectOf } from '../api/api.ts';
import { readCollections } from './collection-command.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { confirm } from '../terminal/confirm.ts';
import { isSet } from '../terminal/flags.ts';
import { type CommandIo, print, printStyled } from '../terminal/print.ts';
import { changesOf, lossOf, type SchemaChange, type SchemaLoss } from '../../definitions/schema-changes.ts';
import { changesText } from '../schema/changes-text.ts';
import { type DumpedFile, readSchema, type SchemaFile, writeSchema } from '../schema/schema-files.ts';
import { colorsOf, showJson } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** `schema dump|diff|apply` */
export function schemaCommand(io: CommandIo): Command {
  const command = new Command('schema').description(
    'manage definitions of collections as files, for example in a repository',
  );
  addDump(command, io);
  addDiff(command, io);
  addApply(command, io);
  return command;
}

const folderDefault = 'schema';

function addDump(parent: Command, io: CommandIo): void {
  const command = parent.command('dump').description('write the definitions to a folder, a file for each');
  command.argument('[folder]', 'created if it does not exist', folderDefault);
  command.option('--system', 'the collections of the service itself, too');
  command.option('--prune', 'delete the files of collections that do not exist');
  addApiFlags(command);
  command.action(async (folder: string) => {
    const all = await withApi(command, io, readCollections);
    const definitions = all.filter(({ system }) => system !== true || isSet(command, 'system'));
    const dumped = await writeSchema(folder, definitions, { all, isPruning: isSet(command, 'prune') });
    if (isSet(command, 'json')) await showJson(io, dumped);
    else await print(io, dumpText(folder, definitions.length, dumped));
  });
}

function dumpText(folder: string, count: number, dumped: readonly DumpedFile[]): string {
  const changed = dumped.filter(({ state }) => state !== 'unchanged');
  const lines = changed.map(({ file, state }) =>
    state === 'foreign'
      ? `${file} stays: its collection is not there (--prune removes it, apply makes it)`
      : `${file} ${state}`,
  );
  const written = changed.filter(({ state }) => state === 'written').length;
  const total = `${countOf(count, 'definition')} in ${folder}, ${written} of them changed.`;
  return [...lines, total].map((line) => `${printable(line)}\n`).join('');
}

function addDiff(parent: Command, io: CommandIo): void {
  const command = parent
    .command('diff')
    .description('show how the files differ from the collections; exits with 1 if they do');
  command.argument('[folder]', 'the files of schema dump', folderDefault);
  addApiFlags(command);
  command.action(async (folder: string) => {
    const files = await readSchema(folder);
    const changes = await withApi(command, io, (api) => planOf(api, files, { deleteMissing: true }));
    if (isSet(command, 'json')) await showJson(io, changes);
    else await printStyled(io, `${changesText(changes, colorsOf(io))}${diffText(files, changes)}\n`);
    if (changes.length > 0) throw new CommandError(exitCodes.no, '');
  });
}

function diffText(files: readonly SchemaFile[], changes: readonly SchemaChange[]): string {
  if (changes.length === 0) return `No differences: ${countOf(files.length, 'definition')}.`;
  const { collections, fields } = lossOf(changes);
  const isLost = collections.length + fields.length > 0;
  const note = isLost ? ' Collections and fields with - stay, unless with apply --delete-missing.' : '';
  return `${countOf(changes.length, 'collection')} would change.${note}`;
}

function addApply(parent: Command, io: CommandIo): void {
  const command = parent
    .command('apply')
    .description('create, update and delete collections to match the files, all or none');
  command.argument('[folder]', 'the files of schema dump', folderDefault);
  command.option('--dry-run', 'only show what would change');
  command.option('--delete-missing', 'delete collections and fields that the files do not have');
  command.option('--yes', 'do not confirm deletions');
  addApiFlags(command);
  command.action(async (folder: string) => {
    const files = await readSchema(folder);
    await withApi(command, io, (api) => applyFiles(api, command, { files, io }));
  });
}

interface Application {
  readonly files: readonly SchemaFile[];
  readonly io: CommandIo;
}

async function applyFiles(api: Api, command: Command, { files, io }: Application): Promise<void> {
  const deleteMissing = isSet(command, 'delete-missing');
  const [isDryRun, isJson] = [isSet(command, 'dry-run'), isSet(command, 'json')];
  const changes = await planOf(api, files, { deleteMissing });
  if (!isJson) await printStyled(io, changesText(changes, colorsOf(io)));
  const isApplied = !isDryRun && changes.length > 0;
  if (isApplied) {
    const loss = lossText(lossOf(changes));
    if (loss !== '') await confirm(io, { loss, name: 'delete', place: api.place }, isSet(command, 'yes'));
    await api.request('PUT', '/api/collections/import', { body: bodyOf(files, deleteMissing) });
  }
  const count = countOf(changes.length, 'collection');
  if (isJson) await showJson(io, { applied: isApplied, changes });
  else if (changes.length === 0) await print(io, 'Nothing to change.\n');
  else await print(io, isApplied ? `${count} changed.\n` : `${count} would change.\n`);
}

/** Returns what is lost, as `the collection tags with its records and the field posts.body with its values`; '' for nothing. */
function lossText({ collections, fields }: SchemaLoss): string {
  const parts = [
    ['collection', 'records', collections],
    ['field', 'values', fields],
  ] as const;
  return parts
    .flatMap(([kind, content, names]) =>
      names.length === 0
        ? []
        : [
            `the ${plural(names.length, kind)} ${names.join(', ')} with ${content} in ${names.length === 1 ? 'it' : 'them'}`,
          ],
    )
    .join(' and ');
}

async function planOf(
  api: Api,
  files: readonly SchemaFile[],
  { deleteMissing }: { readonly deleteMissing: boolean },
): Promise<readonly SchemaChange[]> {
  const body = bodyOf(files, deleteMissing);
  return changesOf(objectOf(await api.request('POST', '/api/collections/import/plan', { body })));
}

function bodyOf(files: readonly SchemaFile[], deleteMissing: boolean): JsonObject {
  return { collections: files.map(({ definition }) => definition), deleteMissing };
}

function countOf(count: number, noun: string): string {
  return `${count} ${plural(count, noun)}`;
}

function plural(count: number, noun: string): string {
  return count === 1 ? noun : `${noun}s`;
}
