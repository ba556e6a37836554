import { setTimeout as sleep } from 'node:timers/promises';
import type { Attacker, Attacks, Target } from '../support/attack.ts';
import { turnReceiver } from '../support/receiver.ts';
import { sampleRecord } from '../support/sample-record.ts';

const records = '/api/collections/bench/records';
const endpoints = '/api/webhooks/endpoints';
const batch = JSON.stringify({
  requests: Array.from({ length: 50 }, () => ({ method: 'POST', url: records, body: sampleRecord(1) })),
});

/** Endpoints that hang or fail, replays, and what is asked about deliveries. */
export const webhookAttacks: Attacks = {
  '1,000 endpoints that hang': { clients: 1, prepare: hangingBefore(1_000), run: event },
  '200 endpoints that hang, and a flood of events': {
    clients: 4,
    prepare: hangingBefore(200),
    run: ({ ask }) => ask(records, { body: JSON.stringify(sampleRecord(1)) }),
  },
  '200 endpoints that fail': {
    clients: 1,
    prepare: (target) => prepareEndpoints(target, { count: 200, mode: 'failing' }),
    run: event,
  },
  '200 endpoints that answer, and batches': {
    clients: 2,
    prepare: (target) => prepareEndpoints(target, { count: 200, mode: 'well' }),
    run: ({ ask }) => ask('/api/batch', { body: batch }),
  },
  'statistics of webhooks, 20 clients': {
    clients: 20,
    prepare: withDeliveries,
    run: ({ ask }) => ask('/api/webhooks/stats'),
  },
  'lists of deliveries, 20 clients': {
    clients: 20,
    prepare: withDeliveries,
    run: ({ ask }) => ask('/api/webhooks/deliveries?perPage=500'),
  },
  'lists of events, 20 clients': {
    clients: 20,
    prepare: withDeliveries,
    run: ({ ask }) => ask('/api/webhooks/events?perPage=500'),
  },
  'feed from the beginning, 20 clients': {
    clients: 20,
    prepare: withDeliveries,
    run: ({ ask }) => ask('/api/webhooks/feed?limit=1000'),
  },
  'lists of 1,000 endpoints, 8 clients': {
    clients: 8,
    prepare: (target) => prepareEndpoints(target, { count: 1_000, mode: 'well' }),
    run: ({ ask }) => ask(`${endpoints}?perPage=1000`),
  },
  'endpoints made and deleted, 8 clients': { clients: 8, run: addAndDelete },
  'replays of all events': {
    clients: 1,
    prepare: withDeliveries,
    run: (attacker) => startJob(attacker, 'replay', { scope: 'all' }),
  },
  'backfills of all records': {
    clients: 1,
    prepare: withDeliveries,
    run: (attacker) => startJob(attacker, 'backfill', { collection: 'bench' }),
  },
  'dry runs of backfills with filters, 8 clients': {
    clients: 8,
    prepare: withDeliveries,
    run: (attacker) =>
      startJob(attacker, 'backfill', {
        collection: 'bench',
        dryRun: true,
        filter: `body ~ 'none ${attacker.next()}'`,
      }),
  },
};

/** As one does who has many receivers. */
async function prepareEndpoints(
  { api, receiver }: Target,
  { count, mode }: { readonly count: number; readonly mode: 'well' | 'failing' | 'silent' },
): Promise<void> {
  await turnReceiver(receiver, mode);
  const { port } = new URL(receiver.url);
  const all = Array.from({ length: count }, (_, at) => ({
    name: `endpoint-${at}`,
    url: `http://127.0.1.${at % 256}:${port}/hook?n=${at}`,
  }));
  for (const body of all) await api(endpoints, body);
}

function hangingBefore(count: number): (target: Target) => Promise<void> {
  return (target) => prepareEndpoints(target, { count, mode: 'silent' });
}

async function event({ ask }: Attacker): Promise<void> {
  await ask(records, { body: JSON.stringify(sampleRecord(1)) });
  await sleep(200);
}

async function withDeliveries(target: Target): Promise<void> {
  await prepareEndpoints(target, { count: 10, mode: 'well' });
  for (let n = 0; n < 200; n += 1) await target.api('/api/batch', JSON.parse(batch));
}

async function addAndDelete({ ask, receiver }: Attacker): Promise<void> {
  const made = await ask(endpoints, { body: JSON.stringify({ url: `${receiver.url}/hook` }) });
  const id = /"id":"(\w+)"/.exec(made)?.[1];
  if (id !== undefined) await ask(`${endpoints}/${id}`, { method: 'DELETE' });
}

/** One of an endpoint that has none yet, or a refusal. */
async function startJob({ ask, next }: Attacker, kind: 'replay' | 'backfill', body: object): Promise<void> {
  const list = await ask(`${endpoints}?perPage=100`);
  const ids = [...list.matchAll(/"id":"(\w+)"/g)].map(([, id]) => id);
  await ask(`${endpoints}/${ids[next() % ids.length]}/${kind}`, { body: JSON.stringify(body) });
  await sleep(20);
}
