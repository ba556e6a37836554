import { Command, Option } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { ConfigError } from '../../config/config.ts';
import { outwardFlags } from '../../config/config-flags.ts';
import { backlogs } from '../../deliveries/endpoints/change-endpoint.ts';
import { type Api, itemsOf, objectOf } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { confirm } from '../terminal/confirm.ts';
import { lastAnswer } from '../webhooks/delivery-rows.ts';
import { addEndpointFiles } from '../webhooks/add-endpoint-files.ts';
import { endpointBackfill, endpointReplay } from '../webhooks/endpoint-replay.ts';
import { addSettings, headersShown, readSecret, settingsOf } from '../webhooks/endpoint-settings.ts';
import { endpointPath, endpointsPath, withEndpoint } from '../webhooks/find-endpoint.ts';
import { addFlags, isSet, numberOf, textOf } from '../terminal/flags.ts';
import { addListOptions, listQuery } from '../api/list-options.ts';
import { type CommandIo, note, print } from '../terminal/print.ts';
import { type Column, showItem, showJson, showList } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** `endpoint create|list|show|update|rotate|pause|resume|test|replay|backfill|delete|export|apply` */
export function endpointCommand(io: CommandIo): Command {
  const command = new Command('endpoint').description('endpoints, which webhooks are sent to');
  addCreate(command, io);
  addList(command, io);
  addShow(command, io);
  addUpdate(command, io);
  addRotate(command, io);
  addPause(command, io);
  addResume(command, io);
  addTest(command, io);
  command.addCommand(endpointReplay(io));
  command.addCommand(endpointBackfill(io));
  addDelete(command, io);
  addEndpointFiles(command, io);
  return command;
}

/** An argument that is an id or a name. */
const idOrName = 'its id or its name';

function addCreate(parent: Command, io: CommandIo): void {
  const command = parent.command('create').description('make an endpoint, and show its secret');
  command.argument('<url>', 'where webhooks are sent');
  addSettings(command);
  command.option('--paused', 'send nothing before it is resumed');
  command.option('--secret-file <FILE>', 'has what signs; - is standard input; one is made otherwise');
  addSendingFlags(command);
  command.action(async (url: string) => {
    const file = textOf(command, 'secret-file');
    const body = {
      url,
      ...settingsOf(command, {}),
      ...(isSet(command, 'paused') && { status: 'paused' }),
      ...(file !== undefined && { secret: await readSecret(file, io) }),
    };
    const answer = await withApi(command, io, (api) => api.request('POST', endpointsPath, { body }));
    const endpoint = objectOf(answer);
    if (isSet(command, 'json')) return showJson(io, endpoint);
    const { warnings, ...members } = endpoint;
    await showItem(io, shownOf(members, {}), { isJson: false });
    warn(io, warnings);
  });
}

/** Of a service, it is the service that decides where it may send. */
function addSendingFlags(command: Command): void {
  addApiFlags(command);
  command.optionsGroup('For data of this machine:');
  addFlags(command, outwardFlags);
}

const columns: readonly Column[] = [
  'id',
  'status',
  { title: 'state', of: ({ lane }) => (isJsonObject(lane) ? lane['state'] : '') },
  'url',
  { title: 'events', of: ({ events }) => [events].flat().join().replaceAll('record.', '') },
  'order',
  'name',
  'description',
  { title: 'why', of: ({ statusReason, lane }) => statusReason || (isJsonObject(lane) ? lane['cause'] : '') },
];

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('show a page of endpoints, and which of them fail');
  addListOptions(command, { filter: "url ~ 'example.com'", sort: 'url' });
  addApiFlags(command);
  command.action(async () => {
    const isJson = isSet(command, 'json');
    const endpoints = await withApi(command, io, async (api) => {
      const items = itemsOf(await api.request('GET', endpointsPath, { query: listQuery(command) }));
      return isJson ? items : withLanes(api, items);
    });
    await showList(io, endpoints, { columns, isJson });
  });
}

/** Adds to each endpoint how the service gets on with it; those that were never sent anything have no lane. */
async function withLanes(api: Api, endpoints: readonly JsonObject[]): Promise<readonly JsonObject[]> {
  const query = { perPage: 1_000, skipTotal: 'true' };
  const lanes = itemsOf(await api.request('GET', '/api/webhooks/lanes', { query }));
  const byId = new Map(lanes.map((lane) => [lane['id'], lane]));
  return endpoints.map((endpoint) => ({ ...endpoint, lane: byId.get(endpoint['id']) ?? {} }));
}

function addShow(parent: Command, io: CommandIo): void {
  const command = parent.command('show').description('show an endpoint, and how it did in the last 24 hours');
  command.argument('<endpoint>', idOrName);
  addApiFlags(command);
  command.action(async () => {
    const { endpoint, stats } = await withOne(command, io, async (api, id) => ({
      endpoint: objectOf(await api.request('GET', endpointPath(id))),
      stats: objectOf(await api.request('GET', `${endpointPath(id)}/stats`)),
    }));
    if (isSet(command, 'json')) await showJson(io, { ...endpoint, stats });
    else await showItem(io, shownOf(endpoint, summaryOf(stats)), { isJson: false });
  });
}

/** Returns an endpoint with what matters most first. */
function shownOf({ id, url, status, ...rest }: JsonObject, summary: JsonObject): JsonObject {
  return { id, url, status, ...summary, ...rest };
}

function summaryOf({ state, waiting, oldestWaiting, total }: JsonObject): JsonObject {
  const figures = isJsonObject(total) ? total : {};
  const { attempts, delivered, failed, exhausted, latencyP50Ms, latencyP95Ms } = figures;
  const since = waiting === 0 ? '' : `, the oldest since ${String(oldestWaiting)}`;
  const latency =
    typeof latencyP50Ms === 'number'
      ? { latency: `median ${latencyP50Ms} ms, 95 % within ${String(latencyP95Ms)} ms` }
      : {};
  return {
    state,
    waiting: `${String(waiting)}${since}`,
    attempts: `${String(attempts)}: ${String(delivered)} delivered, ${String(failed)} failed; ${String(exhausted)} given up`,
    ...latency,
  };
}

function addUpdate(parent: Command, io: CommandIo): void {
  const command = parent.command('update').description('change options of an endpoint; the others stay');
  command.argument('<endpoint>', idOrName);
  command.option('--to <URL>', 'another URL to send to');
  addSettings(command);
  addSendingFlags(command);
  command.action(async () => {
    // Looked at before anything is sent.
    const to = textOf(command, 'to');
    if (to === undefined && Object.keys(settingsOf(command, {})).length === 0)
      throw new ConfigError('There is nothing to change: give an option, as --description.');
    const endpoint = await withOne(command, io, async (api, id) => {
      const before = objectOf(await api.request('GET', endpointPath(id)));
      const body = { ...(to !== undefined && { url: to }), ...settingsOf(command, headersShown(before)) };
      return objectOf(await api.request('PATCH', endpointPath(id), { body }));
    });
    if (isSet(command, 'json')) await showJson(io, endpoint);
    else await showItem(io, shownOf(endpoint, {}), { isJson: false });
  });
}

function addRotate(parent: Command, io: CommandIo): void {
  const command = parent.command('rotate').description('give an endpoint another secret, and show it');
  command.argument('<endpoint>', idOrName);
  command.option('--overlap <SECONDS>', 'how long the secret before it signs as well', '86400');
  command.option('--secret-file <FILE>', 'has what signs; - is standard input; one is made otherwise');
  addApiFlags(command);
  command.action(async () => {
    const file = textOf(command, 'secret-file');
    const body = {
      overlapSeconds: numberOf(command, 'overlap', { min: 0, max: 604_800 }),
      ...(file !== undefined && { secret: await readSecret(file, io) }),
    };
    const answer = objectOf(
      await withOne(command, io, (api, id) =>
        api.request('POST', `${endpointPath(id)}/secret/rotate`, { body }),
      ),
    );
    if (isSet(command, 'json')) return showJson(io, answer);
    const { warnings, ...members } = answer;
    await showItem(io, members, { isJson: false });
    warn(io, warnings);
  });
}

function warn(io: CommandIo, warnings: unknown): void {
  for (const warning of Array.isArray(warnings) ? warnings : []) note(io, `chancery: ${warning}\n`);
  if (io.stdout.isTTY === true) note(io, 'Keep the secret: no other command shows it again.\n');
}

function addPause(parent: Command, io: CommandIo): void {
  const command = parent.command('pause').description('send nothing until it is resumed; deliveries wait');
  command.argument('<endpoint>', idOrName);
  addApiFlags(command);
  command.action(async (text: string) => {
    const answer = await withOne(command, io, (api, id) => api.request('POST', `${endpointPath(id)}/pause`));
    if (isSet(command, 'json')) await showJson(io, objectOf(answer));
    else await print(io, `Endpoint ${text} is paused.\n`);
  });
}

function addResume(parent: Command, io: CommandIo): void {
  const command = parent.command('resume').description('send again; one that is away is tried at once');
  command.argument('<endpoint>', idOrName);
  command.addOption(
    new Option('--backlog <WHAT>', 'what becomes of deliveries that wait').choices(backlogs).default('drain'),
  );
  command.option('--yes', 'do not ask before --backlog skip');
  addApiFlags(command);
  command.action(async (text: string) => {
    const backlog = textOf(command, 'backlog');
    const answer = await withOne(command, io, async (api, id) => {
      if (backlog === 'skip') {
        await requireEndpoint(api, id);
        const loss = `all that waits for the endpoint ${text}`;
        await confirm(io, { verb: 'cancels', loss, name: text, place: api.place }, isSet(command, 'yes'));
      }
      return api.request('POST', `${endpointPath(id)}/resume`, { body: { backlog } });
    });
    if (isSet(command, 'json')) await showJson(io, objectOf(answer));
    else await print(io, `Endpoint ${text} is active.\n`);
  });
}

function addTest(parent: Command, io: CommandIo): void {
  const command = parent
    .command('test')
    .description('send the event ping or a record once, now; ends with 1 if it is not taken');
  command.argument('<endpoint>', idOrName);
  command.option('--record <ID>', 'send this record, as it is, in place of ping');
  command.option('--collection <NAME>', 'whose record it is; that of an endpoint with one alone by default');
  command.option('--event <KIND>', 'with a record, as "record.create"; record.update by default');
  addSendingFlags(command);
  command.action(async () => {
    const [recordId, collection, event] = ['record', 'collection', 'event'].map((name) =>
      textOf(command, name),
    );
    const answer = await withOne(command, io, (api, id) =>
      api.request('POST', `${endpointPath(id)}/test`, { body: { recordId, collection, event } }),
    );
    const delivery = objectOf(answer);
    const isTaken = delivery['status'] === 'delivered';
    if (isSet(command, 'json')) await showJson(io, delivery);
    else if (isTaken) await print(io, `Delivered: ${lastAnswer(delivery)}.\n`);
    if (isTaken) return;
    const why = isSet(command, 'json')
      ? ''
      : `The test was not delivered: ${lastAnswer(delivery).replace(/\.$/, '')}.`;
    throw new CommandError(exitCodes.no, why);
  });
}

function addDelete(parent: Command, io: CommandIo): void {
  const command = parent.command('delete').description('delete an endpoint; what it waits for is cancelled');
  command.argument('<endpoint>', idOrName);
  command.option('--yes', 'do not ask');
  addApiFlags(command);
  command.action(async (text: string) => {
    await withOne(command, io, async (api, id) => {
      const { url } = await requireEndpoint(api, id);
      const loss = `the endpoint ${text} (${String(url)}) with its pending deliveries`;
      await confirm(io, { loss, name: text, place: api.place }, isSet(command, 'yes'));
      await api.request('DELETE', endpointPath(id));
    });
    if (!isSet(command, 'json')) await print(io, `Endpoint ${text} deleted.\n`);
  });
}

/** Runs `work` with the endpoint that the first argument names. */
function withOne<Result>(
  command: Command,
  io: CommandIo,
  work: (api: Api, id: string) => Promise<Result>,
): Promise<Result> {
  const text = command.args[0] ?? '';
  return withApi(command, io, (api) => withEndpoint(api, text, (id) => work(api, id)));
}

/** Nobody should have to type the id of an endpoint that is not there. */
async function requireEndpoint(api: Api, id: string): Promise<JsonObject> {
  return objectOf(await api.request('GET', endpointPath(id), { query: { fields: 'id,url' } }));
}
