import { readCommit } from '../tools/build/read-commit.ts';
import { version } from '../src/app.ts';
import { type BesideResults, readMachine, writeBeside } from './support/beside-page.ts';
import { compare, type Measurement } from './support/compare.ts';
import { runLoad, type NextRequest } from './support/load.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { percentile } from './support/percentile.ts';
import { startPocketbase } from './support/pocketbase.ts';
import { sampleCollection, sampleRecord } from './support/sample-record.ts';
import { fill, startService, type Service } from './support/service.ts';
import { startSubscribers, type Subscribers } from './support/subscribers.ts';

/** More take long to make over HTTP. */
const rowsMax = 20_000;
const listenersMax = 500;
const authors = 100;
/** `bench` is read and changed; what is created goes here, so that both sides read as many records. */
const added = 'added';

/** A service that is measured, through the API that both have. */
type Side = Pick<Service, 'url' | 'pid' | 'api'>;

/**
 * How fast is it beside PocketBase? Five loads on each in turns, over HTTP on loopback: the same definitions, records and requests, each
 * server as it comes and on the same processor. On SQLite.
 */
export async function beside(options: BenchOptions): Promise<void> {
  const { pocketbase, postgres, only, isWritten } = options;
  if (pocketbase === undefined || postgres !== undefined || (isWritten && only !== undefined))
    throw new Error(
      'Expected: npm run bench -- beside --pocketbase PATH [--write | --only TEXT], on SQLite.',
    );
  const theirs = await startPocketbase(pocketbase, 0);
  const ours = await startService(0, options);
  try {
    const lines = await measureAll([ours, theirs], options);
    const results: BesideResults = {
      date: new Date().toISOString().slice(0, 10),
      commit: readCommit()?.name.slice(0, 8) ?? 'unknown',
      chancery: version,
      pocketbase: theirs.version,
      ...readMachine(),
      rows: rowsOf(options),
      runs: options.runs,
      seconds: options.seconds,
      lines,
    };
    if (isWritten) await writeBeside(results);
  } finally {
    await Promise.all([ours.stop(), theirs.stop()]);
  }
}

async function measureAll(
  sides: readonly [ours: Side, theirs: Side],
  options: BenchOptions,
): Promise<BesideResults['lines']> {
  const [ours, theirs] = [await prepare(sides[0], options), await prepare(sides[1], options)];
  const lines: BesideResults['lines'][number][] = [];
  for (const [what, measure] of Object.entries(loads)) {
    if (options.only !== undefined && !what.includes(options.only)) continue;
    const found = await compare(
      {
        what,
        engine: engineOf(options),
        rows: rowsOf(options),
        ours: () => measure(ours),
        ceiling: () => measure(theirs),
      },
      options,
    );
    lines.push({
      what,
      chancery: { perSecond: found.perSecond, p99Ms: found.p99Ms },
      pocketbase: { perSecond: found.ceilingPerSecond, p99Ms: found.ceilingP99Ms },
      ratio: found.ratio,
    });
  }
  await Promise.all([ours, theirs].map(({ subscribers }) => subscribers.stop()));
  return lines;
}

interface Stage extends Side {
  readonly ids: readonly string[];
  readonly seconds: number;
  readonly subscribers: Subscribers;
  readonly listeners: number;
}

async function prepare(side: Side, options: BenchOptions): Promise<Stage> {
  const dates = ['created', 'updated'].map((name) => {
    return { name, type: 'autodate', onCreate: true, onUpdate: name === 'updated' };
  });
  for (const name of ['bench', added]) {
    const definition = sampleCollection(name);
    const body = { ...definition, type: 'base', fields: [...definition.fields, ...dates] };
    // What a service of a benchmark already has.
    if (!(await hasCollection(side, name))) await side.api('/api/collections', body);
  }
  await fill(side, rowsOf(options));
  const ids: string[] = [];
  for (let page = 1; ids.length < rowsOf(options); page += 1) {
    const query = `perPage=500&page=${page}&fields=id&skipTotal=1`;
    const { items } = await side.api(`/api/collections/bench/records?${query}`);
    // A page of records.
    ids.push(...(items as readonly { readonly id: string }[]).map(({ id }) => id));
  }
  return {
    ...side,
    ids,
    seconds: options.seconds,
    subscribers: await startSubscribers(),
    listeners: Math.min(listenersMax, options.rows),
  };
}

async function hasCollection({ api }: Side, name: string): Promise<boolean> {
  const { totalItems } = await api(`/api/collections?filter=${encodeURIComponent(`name='${name}'`)}`);
  return totalItems === 1;
}

function rowsOf({ rows }: BenchOptions): number {
  return Math.min(rows, rowsMax);
}

const loads: Readonly<Record<string, (stage: Stage) => Promise<Measurement>>> = {
  'create a record': ({ url, pid, seconds }) =>
    runLoad({ url: url + recordsPath(added), pid, seconds, method: 'POST', body: createBody }),
  'view a record by id': (stage) => load(stage, (n) => viewRequest(stage, n)),
  'list 30 of an author, sorted, with totals': (stage) => load(stage, (n) => listRequest(n)),
  '60 % views, 20 % lists, 10 % creates, 10 % updates': (stage) => load(stage, (n) => mixedRequest(stage, n)),
  [`messages of creates to ${listenersMax} realtime clients`]: fanOut,
};

let count = 0;

function load({ url, pid, seconds }: Stage, request: (n: number) => NextRequest): ReturnType<typeof runLoad> {
  return runLoad({ url, pid, seconds, next: () => request((count += 1)), isJson: true });
}

function recordsPath(collection: string): string {
  return `/api/collections/${collection}/records`;
}

const createBody = JSON.stringify(sampleRecord(1));

function viewRequest({ ids }: Stage, n: number): NextRequest {
  return { method: 'GET', path: `${recordsPath('bench')}/${ids[n % ids.length] ?? ''}` };
}

const listPaths = Array.from({ length: authors }, (_, author) => {
  const filter = encodeURIComponent(`author = 'writer${author}@example.com'`);
  return `${recordsPath('bench')}?filter=${filter}&sort=-created&perPage=30`;
});

function listRequest(n: number): NextRequest {
  return { method: 'GET', path: listPaths[n % authors] ?? '' };
}

function mixedRequest(stage: Stage, n: number): NextRequest {
  // A number has no factor in common with the tens of authors: each of them is listed.
  const [kind, number] = [n % 10, Math.floor(n / 10) * 7 + (n % 10)];
  if (kind < 6) return viewRequest(stage, number);
  if (kind < 8) return listRequest(number);
  if (kind < 9) return { method: 'POST', path: recordsPath(added), body: createBody };
  return { ...viewRequest(stage, number), method: 'PATCH', body: `{"views":${n}}` };
}

/** Creates one record after the other, each once all clients have been told of the one before; throws when one is not told. */
async function fanOut({ url, api, seconds, subscribers, listeners }: Stage): Promise<Measurement> {
  if ((await subscribers.countOpen()) === 0)
    await subscribers.connect({ url, topic: `${added}/*`, count: listeners });
  const times: number[] = [];
  const startMs = performance.now();
  while (performance.now() - startMs < seconds * 1_000) {
    const id = String((count += 1)).padStart(15, '0');
    const beginMs = performance.now();
    await api(recordsPath(added), { ...sampleRecord(count), id });
    await subscribers.awaitTold({ ids: [id], count: listeners });
    times.push(performance.now() - beginMs);
  }
  const elapsedMs = performance.now() - startMs;
  return {
    perSecond: (times.length * listeners) / (elapsedMs / 1_000),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    processorUs: undefined,
  };
}
