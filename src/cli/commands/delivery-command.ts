import { Command } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import { ConfigError } from '../../config/config-error.ts';
import { printText } from '../../filters/scan.ts';
import { deliveryStatuses } from '../../deliveries/delivery.ts';
import { type Api, ApiRefusal, itemsOf, objectOf } from '../api/api.ts';
import { confirm } from '../terminal/confirm.ts';
import { attemptsOf, attemptText, deliveryColumns, recordOf } from '../webhooks/delivery-rows.ts';
import { endpointIdOf, endpointPath } from '../webhooks/find-endpoint.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import { follow } from '../api/follow.ts';
import { addListOptions, filterOf, listQuery } from '../api/list-options.ts';
import { type CommandIo, print, untilInterrupted } from '../terminal/print.ts';
import { showItem, showJson, showList, streamOf } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

const path = '/api/webhooks/deliveries';

/** `delivery list|show|retry|cancel|tail` */
export function deliveryCommand(io: CommandIo): Command {
  const command = new Command('delivery').description('inspect, retry and cancel deliveries');
  addList(command, io);
  addShow(command, io);
  addRetry(command, io);
  addCancel(command, io);
  addTail(command, io);
  return command;
}

function deliveryPath(id: string): string {
  return `${path}/${encodeURIComponent(id)}`;
}

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('list deliveries, newest first');
  addChoice(command);
  addListOptions(command, { filter: "kind = 'record.create' && record = 'abc'", sort: 'created' });
  addApiFlags(command);
  command.action(async () => {
    const statuses = statusesOf(command);
    const answer = await withApi(command, io, async (api) => {
      const conditions = [...statuses, ...(await endpointsOf(api, command))];
      const query = { ...listQuery(command, conditions), sort: textOf(command, 'sort') ?? '-created' };
      return api.request('GET', path, { query });
    });
    await showList(io, itemsOf(answer), { columns: deliveryColumns, isJson: isSet(command, 'json') });
  });
}

function addChoice(command: Command): void {
  command.option('--status <STATUSES>', `only of these: ${deliveryStatuses.join(', ')}`);
  command.option('--endpoint <ID>', 'only to this endpoint, by its id or its name');
}

/** Returns the condition that `--status` makes. Throws ConfigError for a status that there is not. */
function statusesOf(command: Command): readonly string[] {
  const status = textOf(command, 'status');
  const statuses = status?.split(',').map((one) => one.trim());
  const unknown = statuses?.find((one) => !deliveryStatuses.some((status) => status === one));
  if (unknown !== undefined)
    throw new ConfigError(
      `--status must be of ${deliveryStatuses.join(', ')}, not ${JSON.stringify(unknown)}.`,
    );
  return statuses === undefined ? [] : [anyOf(statuses.map((one) => `status = ${printText(one)}`))];
}

/** Returns the condition that `--endpoint` makes. */
async function endpointsOf(api: Api, command: Command): Promise<readonly string[]> {
  const endpoint = textOf(command, 'endpoint');
  return endpoint === undefined ? [] : [`endpoint = ${printText(await endpointIdOf(api, endpoint))}`];
}

/** A single one stays as it is: the service finds exhausted deliveries by an index then. */
function anyOf(conditions: readonly string[]): string {
  return conditions.length === 1 ? conditions.join('') : `(${conditions.join(' || ')})`;
}

function addShow(parent: Command, io: CommandIo): void {
  const command = parent.command('show').description('show a delivery with all of its attempts');
  command.argument('<delivery>', 'its id');
  addApiFlags(command);
  command.action(async (id: string) => {
    const isJson = isSet(command, 'json');
    const item = await withApi(command, io, async (api) => {
      const delivery = objectOf(await api.request('GET', deliveryPath(id)));
      return isJson ? delivery : storyOf(delivery, await urlOf(api, String(delivery['endpoint'])));
    });
    await showItem(io, item, { isJson });
  });
}

/** Returns where an endpoint sends; undefined for one that was deleted, which its deliveries outlive. */
async function urlOf(api: Api, endpoint: string): Promise<string | undefined> {
  try {
    const { url } = objectOf(await api.request('GET', endpointPath(endpoint), { query: { fields: 'url' } }));
    return String(url);
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return undefined;
    throw error;
  }
}

/** Returns a delivery as people read it: what it is, how it is, and each attempt with the beginning of its answer. */
function storyOf(delivery: JsonObject, url: string | undefined): JsonObject {
  const { id, status, cause, event, kind, endpoint, created, updated, nextAttempt } = delivery;
  const attempts = attemptsOf(delivery).flatMap((attempt): readonly [string, string][] => {
    const { number, responseBody } = attempt;
    const line: [string, string] = [`attempt ${String(number)}`, attemptText(attempt)];
    if (typeof responseBody !== 'string' || responseBody === '') return [line];
    return [line, [`answer ${String(number)}`, beginningOf(responseBody)]];
  });
  return {
    id,
    status,
    ...(cause !== '' && { cause }),
    event: `${String(event)} (${String(kind)})`,
    ...(recordOf(delivery) !== '' && { record: recordOf(delivery) }),
    endpoint: `${String(endpoint)} (${url ?? 'deleted'})`,
    created,
    updated,
    ...(nextAttempt !== '' && { 'next attempt': nextAttempt }),
    ...Object.fromEntries(attempts),
  };
}

const beginningLength = 300;

function beginningOf(body: string): string {
  return body.length > beginningLength ? `${body.slice(0, beginningLength)}… (see --json)` : body;
}

function addRetry(parent: Command, io: CommandIo): void {
  const command = parent.command('retry').description('retry deliveries now, also finished ones');
  command.argument('<deliveries...>', 'their ids');
  addApiFlags(command);
  command.action(async (ids: readonly string[]) => {
    const isJson = isSet(command, 'json');
    const retried = await withApi(command, io, async (api) => {
      const all: JsonObject[] = [];
      for (const id of ids) {
        all.push(objectOf(await api.request('POST', `${deliveryPath(id)}/retry`)));
        if (!isJson) await print(io, `Delivery ${id} is due now.\n`);
      }
      return all;
    });
    if (isJson) await showJson(io, retried);
  });
}

function addCancel(parent: Command, io: CommandIo): void {
  const command = parent.command('cancel').description('cancel a pending delivery');
  command.argument('<delivery>', 'its id');
  command.option('--yes', 'do not confirm');
  addApiFlags(command);
  command.action(async (id: string) => {
    const cancelled = await withApi(command, io, async (api) => {
      // First: nobody should have to type the id of a delivery that is not there.
      await api.request('GET', deliveryPath(id), { query: { fields: 'id' } });
      const confirmation = {
        verb: 'cancels',
        loss: `the delivery ${id}`,
        name: id,
        place: api.place,
      } as const;
      await confirm(io, confirmation, isSet(command, 'yes'));
      return objectOf(await api.request('POST', `${deliveryPath(id)}/cancel`));
    });
    if (isSet(command, 'json')) await showJson(io, cancelled);
    else await print(io, `Delivery ${id} cancelled.\n`);
  });
}

function addTail(parent: Command, io: CommandIo): void {
  const command = parent.command('tail').description('follow the newest 200 deliveries until Ctrl-C');
  addChoice(command);
  command.option('--filter <FILTER>', 'which ones, as "collection = \'posts\'"');
  command.option('--limit <COUNT>', 'how many existing ones, at most 200', '10');
  addApiFlags(command);
  command.action(async () => {
    const statuses = statusesOf(command);
    const list = {
      path,
      limit: numberOf(command, 'limit', { min: 0, max: 200 }) ?? 0,
      stateOf: (delivery: JsonObject) =>
        [delivery['status'], delivery['nextAttempt'], attemptsOf(delivery).length].join(),
      show: streamOf(io, { columns: deliveryColumns, isJson: isSet(command, 'json') }),
    };
    await untilInterrupted(io, (interrupt) =>
      withApi(command, io, async (api) => {
        const filter = filterOf(command, [...statuses, ...(await endpointsOf(api, command))]);
        return follow(api, io, { list: { ...list, filter }, interrupt });
      }),
    );
  });
}
