import { Session } from 'node:inspector/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startApp, type App } from '../../src/app.ts';
import { onInstance } from '../../src/cli/with-instance.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { readConfig } from '../../src/config.ts';

/** A file of src/, and the functions of it that ran. */
export interface WalkedFile {
  readonly path: string;
  readonly functions: readonly string[];
}

interface Walk {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

const records = '/api/collections/posts/records';
const theRecord = 'abcdefghijklmno';

/** The requests to follow. Each is sent again and again, so that `update` changes something each time. */
const requests: Readonly<Record<string, (round: number) => Walk>> = {
  create: (round) => ({ method: 'POST', path: records, body: { title: `post ${round}` } }),
  list: (round) => ({ method: 'GET', path: `${records}?filter=(title='post ${round}')&sort=-created` }),
  view: () => ({ method: 'GET', path: `${records}/${theRecord}` }),
  update: (round) => ({ method: 'PATCH', path: `${records}/${theRecord}`, body: { title: `post ${round}` } }),
};

export const walkNames: readonly string[] = Object.keys(requests);

const warmRounds = 5;
/** A walk is what each of these rounds ran. A timer of the service that fires meanwhile is no part of the request. */
const walkRounds = 3;
/** For so long the service is watched without a request: timers that fire on a busy machine in every round are known by it. */
const idleMs = 1_500;
const root = fileURLToPath(new URL('../../src/', import.meta.url));

/** Returns what the request runs, by the paths of the files in src/. */
export async function walkOf(name: string): Promise<readonly WalkedFile[]> {
  const data = mkdtempSync(join(tmpdir(), 'chancery-walk-'));
  const nothing = (): void => undefined;
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const app = await startApp(readConfig({ data, port: '0', dev: true }, {}), { logger });
  try {
    await prepare(app);
    const walk = requests[name];
    if (walk === undefined) throw new Error(`expected one of ${walkNames.join(', ')}, got ${name}`);
    for (let round = 0; round < warmRounds; round += 1) await send(app, walk(round));
    const walks: (readonly WalkedFile[])[] = [];
    for (let round = 0; round < walkRounds; round += 1)
      walks.push(await follow(() => send(app, walk(warmRounds + round))));
    const idle = await follow(() => wait(idleMs));
    return inAll(walks).filter(({ path, functions }) => {
      const running = idle.find((file) => file.path === path)?.functions ?? [];
      return functions.some((name) => !running.includes(name));
    });
  } finally {
    await app.stop();
    rmSync(data, { recursive: true });
  }
}

/** Returns the files, and the functions of each, that are in every one of the walks. */
function inAll([first = [], ...others]: readonly (readonly WalkedFile[])[]): readonly WalkedFile[] {
  return first.flatMap(({ path, functions }) => {
    const again = others.map((files) => files.find((file) => file.path === path)?.functions ?? []);
    const kept = functions.filter((name) => again.every((names) => names.includes(name)));
    return kept.length === 0 ? [] : [{ path, functions: kept }];
  });
}

async function prepare(app: App): Promise<void> {
  const entry = app.data.directory.all()[0];
  if (entry === undefined) throw new Error('a new folder has its default instance');
  const posts = {
    name: 'posts',
    type: 'base',
    fields: [{ name: 'title', type: 'text' }],
    listRule: '',
    viewRule: '',
    createRule: '',
    updateRule: '',
    deleteRule: '',
  };
  await onInstance(app.data, entry, async (instance) => {
    await createCollection({ ...instance, now: instance.clock.now() }, posts);
  });
  await send(app, { method: 'POST', path: records, body: { id: theRecord, title: 'a post' } });
}

async function send(app: App, { method, path, body }: Walk): Promise<void> {
  const response = await fetch(app.url + path, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
}

async function follow(work: () => Promise<void>): Promise<readonly WalkedFile[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(root))
      .map(({ url, functions }) => ({
        path: fileURLToPath(url).slice(root.length),
        // Classes count as functions of their fields; a name is empty for an arrow function in an argument.
        functions: functions
          .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
          .map(({ functionName }) => functionName || 'arrow'),
      }))
      .filter(({ functions }) => functions.length > 0)
      .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  } finally {
    session.disconnect();
  }
}
