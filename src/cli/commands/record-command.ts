import { Command } from 'commander';
import { type Api, itemsOf, objectOf, recordsPath } from '../api/api.ts';
import { confirm } from '../terminal/confirm.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { recordExport } from '../records/record-export.ts';
import { recordHistory, recordRevert } from '../records/record-history.ts';
import { recordImport } from '../records/record-import.ts';
import { readValues } from '../records/record-values.ts';
import { showItem, showList } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** `record create|get|list|update|delete|history|revert|import|export` */
export function recordCommand(io: CommandIo): Command {
  const command = new Command('record').description('manage the records of a collection');
  addCreate(command, io);
  addGet(command, io);
  addList(command, io);
  addUpdate(command, io);
  addDelete(command, io);
  command.addCommand(recordHistory(io));
  command.addCommand(recordRevert(io));
  command.addCommand(recordImport(io));
  command.addCommand(recordExport(io));
  return command;
}

const valuesHelp = 'FIELD=TEXT, FIELD:=JSON, or - for a JSON object from standard input';

function addCreate(parent: Command, io: CommandIo): void {
  const command = parent.command('create').description('create a record');
  command.argument('<collection>').argument('[values...]', valuesHelp);
  addApiFlags(command);
  command.action(async (collection: string, args: readonly string[]) => {
    const body = await readValues(args, io);
    const answer = await withApi(command, io, (api) =>
      api.request('POST', recordsPath(collection), { body }),
    );
    await showItem(io, objectOf(answer), { isJson: isSet(command, 'json') });
  });
}

function addGet(parent: Command, io: CommandIo): void {
  const command = parent.command('get').description('show a record');
  command.argument('<collection>').argument('<id>');
  addReadOptions(command);
  command.action(async (collection: string, id: string) => {
    const query = readQuery(command);
    const answer = await withApi(command, io, (api) =>
      api.request('GET', recordsPath(collection, id), { query }),
    );
    await showItem(io, objectOf(answer), { isJson: isSet(command, 'json') });
  });
}

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('list records');
  command.argument('<collection>');
  command.option('--filter <FILTER>', 'filter, such as "pages > 100 && title ~ \'sea\'"');
  command.option('--sort <FIELDS>', 'sort order, such as "-created,title"');
  command.option('--limit <COUNT>', 'page size, at most 1000; export has no limit', '30');
  command.option('--page <NUMBER>', 'page number', '1');
  addReadOptions(command);
  command.action(async (collection: string) => {
    const query = {
      ...readQuery(command),
      filter: textOf(command, 'filter'),
      sort: textOf(command, 'sort'),
      perPage: numberOf(command, 'limit', { min: 1, max: 1_000 }),
      page: numberOf(command, 'page', { min: 1, max: 999_999_999 }),
      skipTotal: 'true',
    };
    const answer = await withApi(command, io, (api) =>
      api.request('GET', recordsPath(collection), { query }),
    );
    const items = itemsOf(answer);
    const names = Object.keys(items[0] ?? {}).filter((name) => !hiddenColumns.has(name));
    await showList(io, items, { columns: names, isJson: isSet(command, 'json') });
  });
}

/** What every record of a collection has alike. */
const hiddenColumns: ReadonlySet<string> = new Set(['collectionId', 'collectionName']);

function addUpdate(parent: Command, io: CommandIo): void {
  const command = parent.command('update').description('change fields of a record');
  command.argument('<collection>').argument('<id>').argument('<values...>', valuesHelp);
  addApiFlags(command);
  command.action(async (collection: string, id: string, args: readonly string[]) => {
    const body = await readValues(args, io);
    const answer = await withApi(command, io, (api) =>
      api.request('PATCH', recordsPath(collection, id), { body }),
    );
    await showItem(io, objectOf(answer), { isJson: isSet(command, 'json') });
  });
}

function addDelete(parent: Command, io: CommandIo): void {
  const command = parent.command('delete').description('delete a record');
  command.argument('<collection>').argument('<id>');
  command.option('--yes', 'do not confirm');
  addApiFlags(command);
  command.action(async (collection: string, id: string) => {
    await withApi(command, io, (api) =>
      deleteRecord(api, { collection, id, io, isSure: isSet(command, 'yes') }),
    );
    if (!isSet(command, 'json')) await print(io, `Record ${id} of ${collection} deleted.\n`);
  });
}

interface Deletion {
  readonly collection: string;
  readonly id: string;
  readonly io: CommandIo;
  readonly isSure: boolean;
}

async function deleteRecord(api: Api, { collection, id, io, isSure }: Deletion): Promise<void> {
  // First: nobody should have to type the id of a record that is not there.
  await api.request('GET', recordsPath(collection, id), { query: { fields: 'id' } });
  await confirm(io, { loss: `the record ${id} of ${collection}`, name: id, place: api.place }, isSure);
  await api.request('DELETE', recordsPath(collection, id));
}

function addReadOptions(command: Command): void {
  command.option('--fields <NAMES>', 'only these fields, such as "id,title"');
  command.option('--expand <RELATIONS>', 'include related records, such as "author,author.team"');
  addApiFlags(command);
}

function readQuery(command: Command): { readonly [name: string]: string | undefined } {
  return { fields: textOf(command, 'fields'), expand: textOf(command, 'expand') };
}
