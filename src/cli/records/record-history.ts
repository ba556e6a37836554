import { Command } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { type Api, itemsOf, objectOf, recordsPath } from '../api/api.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { type Column, showJson, showList } from '../terminal/show.ts';
import { readValues } from './record-values.ts';

const limitDefault = 30;

/** `record history`: the changes of a record that the event log has. */
export function recordHistory(io: CommandIo): Command {
  const command = new Command('history').description('show the history of a record, deleted or not');
  command.argument('<collection>').argument('<id>');
  command.option('--fields <NAMES>', 'also the values of these fields, as "title,pages"');
  command.option('--limit <COUNT>', 'how many changes, at most 1000, the newest first', String(limitDefault));
  addApiFlags(command);
  command.action(async (collection: string, id: string) => {
    const limit = numberOf(command, 'limit', { min: 1, max: 1_000 }) ?? limitDefault;
    const items = await withApi(command, io, (api) => changesOf(api, { collection, id, limit }));
    const names = textOf(command, 'fields')?.split(',') ?? [];
    const columns = [
      'created',
      'revision',
      'kind',
      ...names.map((name) => column(name)),
      'id',
      'actor',
      'changed',
    ];
    await showList(io, items, { columns, isJson: isSet(command, 'json') });
  });
  return command;
}

function column(name: string): Column {
  return { title: name, of: ({ data }) => (isJsonObject(data) ? data[name] : undefined) };
}

interface HistoryQuery {
  readonly collection: string;
  readonly id: string;
  readonly limit: number;
}

/** A page may be short where values are large. */
async function changesOf(api: Api, { collection, id, limit }: HistoryQuery): Promise<readonly JsonObject[]> {
  const path = `${recordsPath(collection, id)}/history`;
  const items: JsonObject[] = [];
  let cursor: unknown = '';
  while (typeof cursor === 'string' && items.length < limit) {
    const answer = await api.request('GET', path, { query: { perPage: limit - items.length, cursor } });
    items.push(...itemsOf(answer));
    cursor = objectOf(answer)['nextCursor'];
  }
  return items;
}

/** `record revert`: brings a past state back, also of a deleted record. */
export function recordRevert(io: CommandIo): Command {
  const command = new Command('revert').description(
    'restore an earlier state of a record, or a deleted record',
  );
  command.argument('<collection>').argument('<id>');
  command.argument('[values...]', 'values to set as well: FIELD=TEXT, FIELD:=JSON, or - for a JSON object');
  command.requiredOption('--to <STATE>', 'the id of an event, a revision, or a time, as history shows them');
  command.option('--if-revision <REVISION>', 'only if it still has this revision');
  addApiFlags(command);
  command.action(async (collection: string, id: string, args: readonly string[]) => {
    const values = await readValues(args, io);
    const revision = numberOf(command, 'if-revision', { min: 1, max: 999_999_999 });
    const answer = await withApi(command, io, (api) =>
      api.request('POST', `${recordsPath(collection, id)}/revert`, {
        body: { to: textOf(command, 'to'), values },
        ...(revision !== undefined && { headers: { 'if-match': `"${revision}-"` } }),
      }),
    );
    const reverted = objectOf(answer);
    if (isSet(command, 'json')) await showJson(io, reverted);
    else await print(io, textOfRevert(`Record ${id} of ${collection}`, reverted));
  });
  return command;
}

function textOfRevert(record: string, { action, from, notRestored, released }: JsonObject): string {
  const { revision, created } = isJsonObject(from) ? from : {};
  const state = `as it was in revision ${String(revision)} of ${String(created)}`;
  const done =
    action === 'created'
      ? `${record} created again, ${state}.`
      : action === 'updated'
        ? `${record} reverted, ${state}.`
        : `${record} is ${state} already.`;
  const losses = objectsIn(notRestored).map(
    ({ field, message }) => `Not restored: ${String(field)}. ${String(message)}`,
  );
  const others = objectsIn(released).map(
    ({ collection, record: id, kind, revision: before }) =>
      `${kind === 'record.delete' ? 'Deleted' : 'Changed'} with it: ${String(id)} of ${String(collection)}, revert it to revision ${String(before)}.`,
  );
  return `${[done, ...losses, ...others].join('\n')}\n`;
}

function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
