import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { ConfigError } from '../../config/config-error.ts';
import { type Api, errorText, itemsOf, objectOf } from '../api/api.ts';
import { addApiFlags, withOperatorApi } from '../api/with-api.ts';
import { readSchema } from '../schema/schema-files.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { confirm } from '../terminal/confirm.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, print, showLine } from '../terminal/print.ts';
import { showList } from '../terminal/show.ts';

const jobs = '/api/operator/schema';
const lookMs = 250;
const perPage = 1_000;

/** `operator schema push` */
export function operatorSchemaCommand(io: CommandIo): Command {
  const parent = new Command('schema').description('apply the same definitions to many instances');
  const command = parent
    .command('push')
    .description('apply the files of schema dump to many instances; exits with 1 if any fails');
  command.argument('[folder]', 'the files of schema dump', 'schema');
  command.option('--instances <FILTER>', "which, as labels.plan = 'pro'; all of them by an empty one");
  command.option('--dry-run', 'only show what would change, and what records refuse');
  command.option('--delete-missing', 'delete collections and fields that the files do not have');
  command.option('--stop-after <COUNT>', 'stop once this many instances have failed');
  command.option('--yes', 'do not confirm deletions');
  addApiFlags(command);
  command.action(async (folder: string) => {
    const instances = textOf(command, 'instances');
    if (instances === undefined)
      throw new ConfigError('Name the instances by --instances: a filter, or an empty text for all of them.');
    const files = await readSchema(folder);
    const body = {
      instances,
      collections: files.map(({ definition }) => definition),
      deleteMissing: isSet(command, 'delete-missing'),
      dryRun: isSet(command, 'dry-run'),
      stopAfter: numberOf(command, 'stop-after', { min: 1, max: 1_000_000 }) ?? null,
    };
    await withOperatorApi({ command, io, takesUpJobs: true }, (api) => push(api, command, { io, body }));
  });
  return parent;
}

interface Push {
  readonly io: CommandIo;
  readonly body: {
    readonly deleteMissing: boolean;
    readonly dryRun: boolean;
    readonly [member: string]: unknown;
  };
}

async function push(api: Api, command: Command, { io, body }: Push): Promise<void> {
  const isJson = isSet(command, 'json');
  if (body.deleteMissing && !body.dryRun) {
    const loss = 'the collections and fields that the files do not have, with their records and values';
    await confirm(io, { loss, name: 'delete', place: api.place }, isSet(command, 'yes'));
  }
  const { id } = objectOf(await api.request('PUT', jobs, { body }));
  const path = `${jobs}/${String(id)}`;
  const job = await waitFor(api, path, io);
  const results = await readResults(api, path);
  if (isJson) await showList(io, results, { columns: [], isJson });
  else {
    const columns = ['slug', 'state', { title: 'what', of: whatOf }];
    const items = results.filter(({ state }) => state !== 'unchanged');
    await showList(io, items, { columns, isJson });
    const [changed, unchanged, failed, skipped] = ['changed', 'unchanged', 'failed', 'skipped'].map((name) =>
      String(job[name]),
    );
    const verb = body.dryRun ? 'would be changed' : 'changed';
    await print(io, `${changed} ${verb}, ${unchanged} unchanged, ${failed} failed, ${skipped} skipped.\n`);
  }
  if (job['state'] !== 'done') throw new CommandError(exitCodes.no, '');
}

/** Shows the progress of a job, and returns it when it is over. A client that goes away does not end it. */
async function waitFor(api: Api, path: string, io: CommandIo): Promise<JsonObject> {
  for (;;) {
    const job = objectOf(await api.request('GET', path));
    const isOver = job['ended'] !== '';
    showLine(io, isOver ? '' : `${String(job['done'])} of ${String(job['total'])}`);
    if (isOver) return job;
    await delay(lookMs);
  }
}

async function readResults(api: Api, path: string): Promise<readonly JsonObject[]> {
  const results: JsonObject[] = [];
  for (let page = 1; ; page += 1) {
    const items = itemsOf(
      await api.request('GET', `${path}/results`, { query: { page, perPage, skipTotal: 'true' } }),
    );
    results.push(...items);
    if (items.length < perPage) return results;
  }
}

/** Returns what came of an instance on one line: what changes, as `~posts (+field body)`, or why nothing does. */
function whatOf({ changes, error }: JsonObject): string {
  if (isJsonObject(error)) return errorText(error);
  const views: readonly unknown[] = Array.isArray(changes) ? changes : [];
  return views.filter(isJsonObject).map(changeText).join(', ');
}

const signs: Readonly<Record<string, string>> = { create: '+', change: '~', delete: '-' };

function changeText({ collection, change, added, changed, removed }: JsonObject): string {
  const named = (sign: string, names: unknown): readonly string[] =>
    Array.isArray(names) ? names.map((name) => `${sign}${String(name)}`) : [];
  const parts = [...named('+', added), ...named('~', changed), ...named('-', removed)];
  const suffix = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  return `${signs[String(change)] ?? ''}${String(collection)}${suffix}`;
}
