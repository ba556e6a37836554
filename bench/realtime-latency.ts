import { median } from './support/median.ts';
import { monotonicMs } from './support/monotonic-ms.ts';
import type { BenchOptions } from './support/options.ts';
import { pace } from './support/pace.ts';
import { percentile } from './support/percentile.ts';
import { report, verdictOf } from './support/report.ts';
import { sampleCollection, sampleRecord } from './support/sample-record.ts';
import { startService, type Service } from './support/service.ts';
import { userPassword } from './support/sign-up.ts';
import { startSubscribers, type Subscribers } from './support/subscribers.ts';

/** Creates a second: few, as what a single one takes is measured. */
const rate = 50;
const p50MsMax = 3;
/** All clients come from one address. */
const serveArgs = ['--realtime-connections-per-address', '20000'];

/** How long after its commit is a change told to the only client that is connected? */
export async function firstSubscriber(options: BenchOptions): Promise<void> {
  const service = await startService(undefined, options, serveArgs);
  const subscribers = await startSubscribers();
  await subscribers.connect({ url: service.url, topic: 'bench/*', count: 1 });
  const what = 'from commit to the only realtime client';
  await measure({ what, collection: 'bench', owners: [] }, { service, subscribers, options });
}

const callersCount = 200;

/** The same, where each of many clients is somebody else, of whom a rule lets only the record's owner see it. */
export async function firstOfCallers(options: BenchOptions): Promise<void> {
  const service = await startService(undefined, options, serveArgs);
  const users = await makeUsers(service, Math.min(callersCount, options.rows));
  const { id: usersId } = await service.api('/api/collections/users');
  const sample = sampleCollection('owned');
  await service.api('/api/collections', {
    ...sample,
    listRule: 'owner = @request.auth.id',
    fields: [...sample.fields, { name: 'owner', type: 'relation', collectionId: usersId, maxSelect: 1 }],
  });
  const subscribers = await startSubscribers();
  const tokens = users.map(({ token }) => token);
  await subscribers.connect({ url: service.url, topic: 'owned/*', count: users.length, tokens });
  const what = `from commit to the one of ${users.length} realtime clients who may see it`;
  const owners = users.map(({ id }) => id);
  await measure({ what, collection: 'owned', owners }, { service, subscribers, options });
}

interface User {
  readonly id: string;
  readonly token: string;
}

async function makeUsers({ api }: Service, count: number): Promise<readonly User[]> {
  const users: User[] = [];
  for (let n = 0; n < count; n += 1) {
    const email = `user${n}@example.com`;
    const account = { email, password: userPassword, passwordConfirm: userPassword };
    const { id } = await api('/api/collections/users/records', account);
    const { token } = await api(`/api/collections/users/impersonate/${String(id)}`, {});
    users.push({ id: String(id), token: String(token) });
  }
  return users;
}

interface Line {
  readonly what: string;
  readonly collection: string;
  /** To whom the records belong, in turn. */
  readonly owners: readonly string[];
}

interface Scene {
  readonly service: Service;
  readonly subscribers: Subscribers;
  readonly options: BenchOptions;
}

/** Creates records at a steady pace, each of which one client is told, and reports how long that took. Stops the scene. */
async function measure(line: Line, scene: Scene): Promise<void> {
  const { service, subscribers, options } = scene;
  const runs: Times[] = [];
  for (let run = 0; run <= options.runs; run += 1) {
    const times = await createTold(line, scene);
    // The first run only warms up.
    if (run > 0) runs.push(times);
  }
  await Promise.all([service.stop(), subscribers.stop()]);
  const of = (name: keyof Times, share: number): number =>
    median(runs.map((times) => percentile(times[name], share)));
  const figures = {
    p50Ms: of('sinceAnswer', 0.5),
    p99Ms: of('sinceAnswer', 0.99),
    createP50Ms: of('create', 0.5),
    createP99Ms: of('create', 0.99),
    sinceDueP50Ms: of('sinceDue', 0.5),
    sinceDueP99Ms: of('sinceDue', 0.99),
  };
  const { p50Ms, p99Ms, createP50Ms, createP99Ms, sinceDueP50Ms, sinceDueP99Ms } = figures;
  const create = `the create itself ${createP50Ms.toFixed(2)} and ${createP99Ms.toFixed(2)}`;
  const sinceDue = `${sinceDueP50Ms.toFixed(2)} and ${sinceDueP99Ms.toFixed(2)} from when the create was due`;
  report(
    {
      what: line.what,
      figures: { ...figures, p50MsMax },
      sentence: `p50 ${p50Ms.toFixed(2)} ms, ${verdictOf(p50Ms, p50MsMax)}, p99 ${p99Ms.toFixed(2)}; ${create}; ${sinceDue}`,
    },
    options,
  );
}

/** Milliseconds of each create: until its answer, from there until the client was told, and both together. */
interface Times {
  readonly create: readonly number[];
  readonly sinceAnswer: readonly number[];
  readonly sinceDue: readonly number[];
}

let created = 0;

async function createTold(
  { collection, owners }: Line,
  { service, subscribers, options }: Scene,
): Promise<Times> {
  const { seconds } = options;
  const first = created;
  created += Math.ceil(rate * seconds);
  const idOf = (n: number): string => String(first + n).padStart(15, '0');
  const ownerOf = (n: number): object => (owners.length === 0 ? {} : { owner: owners[n % owners.length] });
  const answered = new Map<string, { readonly atMs: number; readonly ms: number }>();
  await pace({
    url: `${service.url}/api/collections/${collection}/records`,
    rate,
    seconds,
    body: (n) => JSON.stringify({ ...sampleRecord(n), id: idOf(n), ...ownerOf(n) }),
    onAnswer: (n, ms) => answered.set(idOf(n), { atMs: monotonicMs(), ms }),
  });
  const told = await subscribers.awaitTold({ ids: [...answered.keys()], count: 1 });
  const answers = [...answered.values()];
  const sinceAnswer = told.map(({ firstMs }, index) => firstMs - (answers[index]?.atMs ?? Number.NaN));
  const create = answers.map(({ ms }) => ms);
  return {
    create,
    sinceAnswer,
    sinceDue: sinceAnswer.map((ms, index) => ms + (create[index] ?? Number.NaN)),
  };
}
