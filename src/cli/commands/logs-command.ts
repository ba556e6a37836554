import { Command } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { itemsOf } from '../api/api.ts';
import { isSet, numberOf } from '../terminal/flags.ts';
import { follow } from '../api/follow.ts';
import { filterOf } from '../api/list-options.ts';
import { type CommandIo, untilInterrupted } from '../terminal/print.ts';
import { type Column, showList, streamOf } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

const path = '/api/logs';

/** `logs` */
export function logsCommand(io: CommandIo): Command {
  const command = new Command('logs').description('show the newest entries of the request log');
  command.option('--follow', 'continue with new entries, until Ctrl-C');
  command.option('--filter <FILTER>', 'which ones, as "data.status >= 400 && data.auth = \'users\'"');
  command.option('--limit <COUNT>', 'how many, at most 1000; with --follow at most 200', '30');
  command.option('--all', 'include requests of commands that read the log');
  addApiFlags(command);
  command.action(async () => {
    const isJson = isSet(command, 'json');
    if (isSet(command, 'follow')) return followLog(command, io);
    const limit = numberOf(command, 'limit', { min: 1, max: 1_000 });
    const query = { filter: filterOfLog(command), sort: '-created', perPage: limit, skipTotal: 'true' };
    const answer = await withApi(command, io, (api) => api.request('GET', path, { query }));
    // As in a log, the newest is the last.
    await showList(io, itemsOf(answer).toReversed(), { columns, isJson });
  });
  return command;
}

/** Selects what no command has looked up in the log. A command on data of this machine has no `User-Agent`. */
const notOfCommands = `(${[
  // Of an entry of the log about itself. No other operator matches what is not there.
  'data.url = null',
  "data.url !~ '/api/logs?%'",
  "(data.userAgent != '' && data.userAgent !~ 'chancery/%')",
].join(' || ')})`;

/** To look at the log makes an entry each time. A log that is followed would show nothing else. */
function filterOfLog(command: Command): string | undefined {
  return filterOf(command, isSet(command, 'all') ? [] : [notOfCommands]);
}

async function followLog(command: Command, io: CommandIo): Promise<void> {
  const list = {
    path,
    filter: filterOfLog(command),
    limit: numberOf(command, 'limit', { min: 0, max: 200 }) ?? 0,
    // An entry never changes.
    stateOf: () => '',
    show: streamOf(io, { columns, isJson: isSet(command, 'json') }),
  };
  await untilInterrupted(io, (interrupt) =>
    withApi(command, io, (api) => follow(api, io, { list, interrupt })),
  );
}

const columns: readonly Column[] = [
  { title: 'created', of: ({ created }) => created, width: 24 },
  { title: 'status', of: (entry) => dataOf(entry)['status'], width: 6 },
  { title: 'method', of: (entry) => dataOf(entry)['method'], width: 6 },
  { title: 'url', of: (entry) => dataOf(entry)['url'] ?? entry['message'], width: 40 },
  { title: 'ms', of: (entry) => dataOf(entry)['execTime'], width: 8 },
  { title: 'caller', of: (entry) => dataOf(entry)['auth'], width: 12 },
  { title: 'address', of: (entry) => dataOf(entry)['userIP'], width: 15 },
  { title: 'error', of: (entry) => dataOf(entry)['error'], width: 40 },
];

function dataOf({ data }: JsonObject): JsonObject {
  return isJsonObject(data) ? data : {};
}
