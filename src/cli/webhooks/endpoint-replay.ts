import { setTimeout as delay } from 'node:timers/promises';
import { Command, Option } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import { replayScopes } from '../../deliveries/replays/replay-store.ts';
import { ConfigError } from '../../config/config-error.ts';
import { type Api, objectOf } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { endpointPath, withEndpoint } from './find-endpoint.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, print, showLine, untilInterrupted } from '../terminal/print.ts';
import { showJson } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** `endpoint replay` */
export function endpointReplay(io: CommandIo): Command {
  const command = new Command('replay').description('replay past deliveries of an endpoint');
  command.argument('<endpoint>', 'its id or its name');
  command.addOption(
    new Option('--scope <SCOPE>', 'failed: exhausted deliveries; missing: events it did not get; all')
      .choices(replayScopes)
      .default('failed'),
  );
  command.option('--filter <FILTER>', 'which records, as "price > 10"');
  command.option('--since <DATE>', 'only events since then');
  command.option('--until <DATE>', 'only events until then');
  return sending(command, io, {
    name: 'replay',
    bodyOf: () => ({
      scope: textOf(command, 'scope'),
      filter: textOf(command, 'filter'),
      since: textOf(command, 'since'),
      until: textOf(command, 'until'),
    }),
    countText: (total) => `${countOf(total, 'delivery', 'deliveries')} would be sent again.`,
  });
}

/** `endpoint backfill` */
export function endpointBackfill(io: CommandIo): Command {
  const command = new Command('backfill').description('send the existing records of a collection');
  command.argument('<endpoint>', 'its id or its name');
  command.argument('[collection]', 'its name or id');
  command.option('--collection <COLLECTION>', 'the same');
  command.option('--filter <FILTER>', 'which records, as "price > 10"');
  return sending(command, io, {
    name: 'backfill',
    bodyOf: () => ({ collection: collectionOf(command), filter: textOf(command, 'filter') }),
    countText: (total) => `${countOf(total, 'record', 'records')} would be sent.`,
  });
}

function collectionOf(command: Command): string {
  const [, argument] = command.args;
  const option = textOf(command, 'collection');
  const collection = argument ?? option;
  if (collection !== undefined && (argument === undefined || option === undefined)) return collection;
  throw new ConfigError(
    collection === undefined
      ? 'Which collection? Give its name: chancery endpoint backfill ENDPOINT COLLECTION.'
      : 'The collection is given twice: as an argument and by --collection.',
  );
}

/** What a replay and a backfill do not have in common. */
interface Sending {
  readonly name: 'replay' | 'backfill';
  readonly bodyOf: () => JsonObject;
  readonly countText: (total: unknown) => string;
}

function sending(command: Command, io: CommandIo, what: Sending): Command {
  command.option('--rate <COUNT>', 'deliveries per second, 0 for no limit');
  command.option('--dry-run', 'only count them');
  command.option('--wait', 'until each is delivered or exhausted; exits with 1 if one is exhausted');
  addApiFlags(command);
  command.action(async (text: string) => {
    const isJson = isSet(command, 'json');
    const replay = await untilInterrupted(io, (interrupt) =>
      withApi(command, io, async (api) => {
        const begun = await withEndpoint(api, text, (id) => begin(api, command, { ...what, id }));
        if (!isSet(command, 'wait') || isSet(command, 'dry-run')) return begun;
        return waitFor(api, begun, { io, interrupt, name: what.name });
      }),
    );
    if (isJson) await showJson(io, replay);
    else await print(io, `${textOfReplay(replay, what)}\n`);
    if (isSet(command, 'wait') && Number(replay['failed'] ?? 0) > 0) throw new CommandError(exitCodes.no, '');
  });
  return command;
}

async function begin(
  api: Api,
  command: Command,
  { name, bodyOf, id }: Sending & { readonly id: string },
): Promise<JsonObject> {
  const body = {
    ...bodyOf(),
    rate: numberOf(command, 'rate', { min: 0, max: 10_000 }),
    ...(isSet(command, 'dry-run') && { dryRun: true }),
  };
  return objectOf(await api.request('POST', `${endpointPath(id)}/${name}`, { body }));
}

function textOfReplay(
  { id, state, cause, total, delivered, failed }: JsonObject,
  { name, countText }: Sending,
): string {
  if (typeof id !== 'string') return countText(total);
  const what = `${name === 'replay' ? 'Replay' : 'Backfill'} ${id}`;
  if (state === 'running') return `${what} has begun: ${countOf(total, 'delivery', 'deliveries')}.`;
  const why = typeof cause === 'string' && cause !== '' ? ` ${cause}` : '';
  return `${what} is ${String(state)}: ${String(delivered)} delivered, ${String(failed)} failed.${why}`;
}

function countOf(total: unknown, one: string, many: string): string {
  return total === 1 ? `1 ${one}` : `${String(total)} ${many}`;
}

const pollMs = 500;

interface Waiting {
  readonly name: Sending['name'];
  readonly io: CommandIo;
  readonly interrupt: AbortSignal;
}

/** Resolves to a replay or backfill that is over. Ctrl-C ends the waiting, and not the replay, which the service goes on with. */
async function waitFor(api: Api, begun: JsonObject, { name, io, interrupt }: Waiting): Promise<JsonObject> {
  const path = `/api/webhooks/replays/${encodeURIComponent(String(begun['id']))}`;
  for (let replay = begun; ; replay = objectOf(await api.request('GET', path))) {
    // It is done once all are taken up: what is on its way then is still to come.
    if (replay['state'] !== 'running' && !(Number(replay['pending']) > 0)) {
      showLine(io, '');
      return replay;
    }
    const { total, delivered, failed } = replay;
    showLine(io, `${String(delivered)} of ${String(total)} delivered, ${String(failed)} failed`);
    await delay(pollMs, undefined, { signal: interrupt }).catch(() => undefined);
    if (!interrupt.aborted) continue;
    throw new CommandError(exitCodes.interrupted, `The ${name} ${String(begun['id'])} goes on.`);
  }
}
