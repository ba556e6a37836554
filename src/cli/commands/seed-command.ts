import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { commandName } from '../../base/build.ts';
import { systemClock } from '../../base/clock.ts';
import { randomText } from '../../base/ids.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { standardSignature } from '../../sending/signature.ts';
import { type Api, itemsOf, objectOf } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { demoWorld } from '../records/demo-world.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, print, showLine, untilInterrupted } from '../terminal/print.ts';
import { RecordSender } from '../records/record-sender.ts';
import { showJson } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** As many records as a service takes in a batch by default. */
const batchMax = 50;
/** How long to wait for the first webhook. Where no server runs on the data, none comes. */
const webhookMs = 5_000;
const lookMs = 100;

/** `seed demo|load` */
export function seedCommand(io: CommandIo): Command {
  const command = new Command('seed').description('fill an instance with sample data');
  addDemo(command, io);
  addLoad(command, io);
  return command;
}

function addDemo(parent: Command, io: CommandIo): void {
  const command = parent
    .command('demo')
    .description('create three sample collections with 200 records, accounts, and a webhook endpoint');
  addApiFlags(command);
  command.action(async () => {
    const demo = await withApi(command, io, (api) => makeDemo(api, io));
    if (isSet(command, 'json')) await showJson(io, demo);
    else await print(io, textOfDemo(demo));
  });
}

interface Demo {
  readonly place: string;
  readonly records: Readonly<Record<string, number>>;
  readonly account: { readonly email: string; readonly password: string };
  readonly endpoint: { readonly id: string; readonly catcher: string };
  /** The first webhook, if it came in time. */
  readonly webhook: FirstWebhook | null;
}

interface FirstWebhook {
  readonly id: string;
  readonly event: string;
  readonly isGenuine: boolean;
}

async function makeDemo(api: Api, io: CommandIo): Promise<Demo> {
  const password = randomText(16, 'abcdefghijkmnpqrstuvwxyz23456789');
  const world = demoWorld({ password, now: systemClock.now() });
  await refuseExisting(api, [...world.records.keys()]);
  await api.request('PUT', '/api/collections/import', { body: { collections: world.collections } });
  const catcher = objectOf(await api.request('POST', '/api/webhooks/catchers'));
  const body = { url: catcher['url'], description: 'Orders, for a look', collections: ['orders'] };
  const endpoint = objectOf(await api.request('POST', '/api/webhooks/endpoints', { body }));
  for (const [collection, records] of world.records) await sendAll(api, io, { collection, records });
  const webhook = await firstWebhook(api, String(catcher['id']), String(endpoint['secret']));
  return {
    place: api.place,
    records: Object.fromEntries([...world.records].map(([name, { length }]) => [name, length])),
    account: { email: String(world.records.get('customers')?.[0]?.['email']), password },
    endpoint: { id: String(endpoint['id']), catcher: String(catcher['id']) },
    webhook: webhook ?? null,
  };
}

/** Throws when one of the collections is there: its records would be somebody's. */
async function refuseExisting(api: Api, names: readonly string[]): Promise<void> {
  const existing = (await namesOfCollections(api)).filter((name) => names.includes(name));
  if (existing.length === 0) return;
  const message = `${api.place} already has collections with these names: ${existing.join(', ')}. Nothing was created.`;
  throw new CommandError(exitCodes.refused, message);
}

async function namesOfCollections(api: Api): Promise<readonly string[]> {
  const collections = itemsOf(await api.request('GET', '/api/collections', { query: { perPage: 500 } }));
  return collections.map(({ name }) => String(name));
}

interface Records {
  readonly collection: string;
  readonly records: readonly JsonObject[];
}

async function sendAll(api: Api, io: CommandIo, { collection, records }: Records): Promise<void> {
  const sender = new RecordSender({ api, collection, isUpsert: false });
  for (let from = 0; from < records.length; from += batchMax) {
    showLine(io, `${collection}: ${from} of ${records.length}`);
    await sendBatch(sender, { collection, records: records.slice(from, from + batchMax) }, from);
  }
  showLine(io, '');
}

/** Sends records that are all good; `sent` came before them. Resolves to how many they are. */
function sendBatch(sender: RecordSender, { collection, records }: Records, sent: number): Promise<number> {
  const rows = records.map((values, index) => ({ place: `record ${sent + index + 1}`, values }));
  return sender.send(rows, ({ place }, reason) => {
    throw new CommandError(exitCodes.refused, `${collection}, ${place}: ${reason}`);
  });
}

/** Waits for a webhook in the catcher and verifies its signature, as a receiver does; undefined when none comes. */
async function firstWebhook(api: Api, catcher: string, secret: string): Promise<FirstWebhook | undefined> {
  for (let waitedMs = 0; waitedMs <= webhookMs; waitedMs += lookMs) {
    const { requests } = objectOf(await api.request('GET', `/api/webhooks/catchers/${catcher}`));
    const latest: unknown = Array.isArray(requests) ? requests.at(-1) : undefined;
    if (isJsonObject(latest) && isJsonObject(latest['headers']))
      return verified(String(latest['body']), latest['headers'], secret);
    await delay(lookMs);
  }
  return undefined;
}

function verified(body: string, headers: JsonObject, secret: string): FirstWebhook {
  const id = String(headers['webhook-id']);
  const signature = standardSignature({
    id,
    timestampSeconds: Number(headers['webhook-timestamp']),
    body: Buffer.from(body),
    secrets: [secret],
  });
  return {
    id,
    event: String(headers['x-service-event']),
    isGenuine: String(headers['webhook-signature']).split(' ').includes(signature),
  };
}

function textOfDemo({ place, records, account, endpoint, webhook }: Demo): string {
  const countTexts = Object.entries(records).map(([name, count]) => `${count} ${name}`);
  const first =
    webhook === null
      ? 'No webhook has arrived yet. A running server sends them.'
      : `First webhook received: ${webhook.event} ${webhook.id}, signature ${webhook.isGenuine ? 'valid' : 'INVALID'}.`;
  return `Created in ${place}: ${countTexts.join(', ')}.

Customer account   ${account.email}  ${account.password}
Order webhooks     GET /api/webhooks/catchers/${endpoint.catcher}
                   (kept for an hour; send the token of a superuser)

${first}

Look around:  ${commandName} record list orders --filter "status = 'open'" --sort -ordered
`;
}

function addLoad(parent: Command, io: CommandIo): void {
  const command = parent.command('load').description('create a collection with many records, for benchmarks');
  command.requiredOption('--records <COUNT>', 'how many records');
  command.option('--collection <NAME>', 'its name; created if it does not exist', 'load');
  addApiFlags(command);
  command.action(async () => {
    const count = numberOf(command, 'records', { min: 1, max: 100_000_000 }) ?? 0;
    const collection = textOf(command, 'collection') ?? 'load';
    const result = await untilInterrupted(io, (interrupt) =>
      withApi(command, io, (api) => load(api, io, { collection, count, interrupt })),
    );
    if (isSet(command, 'json')) await showJson(io, result);
    else
      await print(
        io,
        `${result.records} records created in ${collection}, ${result.perSecond} per second.\n`,
      );
    if (result.records < count)
      throw new CommandError(
        exitCodes.interrupted,
        `Interrupted after ${result.records} of ${count} records.`,
      );
  });
}

interface Load {
  readonly collection: string;
  readonly count: number;
  readonly interrupt: AbortSignal;
}

async function load(
  api: Api,
  io: CommandIo,
  { collection, count, interrupt }: Load,
): Promise<{ readonly records: number; readonly perSecond: number }> {
  if (!(await namesOfCollections(api)).includes(collection))
    await api.request('POST', '/api/collections', { body: { ...loadDefinition, name: collection } });
  const sender = new RecordSender({ api, collection, isUpsert: false });
  const start = systemClock.monotonic();
  let sent = 0;
  while (sent < count && !interrupt.aborted) {
    const records = Array.from({ length: Math.min(batchMax, count - sent) }, (_, index) =>
      loadRecord(sent + index),
    );
    sent += await sendBatch(sender, { collection, records }, sent);
    showLine(io, `${sent} of ${count} records (${Math.floor((sent / count) * 100)} %)`);
  }
  showLine(io, '');
  const seconds = Math.max(systemClock.monotonic() - start, 1) / 1_000;
  return { records: sent, perSecond: Math.round(sent / seconds) };
}

const loadDefinition = {
  type: 'base',
  listRule: '',
  viewRule: '',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'number', type: 'number' },
    { name: 'isEven', type: 'bool' },
    { name: 'kind', type: 'select', values: ['red', 'green', 'blue'] },
    { name: 'at', type: 'date' },
    { name: 'data', type: 'json' },
  ],
};

function loadRecord(number: number): JsonObject {
  return {
    title: `Record ${number}`,
    number,
    isEven: number % 2 === 0,
    kind: ['red', 'green', 'blue'][number % 3] ?? 'red',
    at: new Date(1_700_000_000_000 + number * 1_000).toISOString(),
    data: { digits: String(number).split('').map(Number) },
  };
}
