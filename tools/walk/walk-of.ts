import { Session } from 'node:inspector/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { WalkStage } from './walk-stage.ts';

/** A file of src/, and the functions of it that ran. */
export interface WalkedFile {
  readonly path: string;
  readonly functions: readonly string[];
}

/** What is done in a round, after what is made for it. */
type Walk = (stage: WalkStage, round: number) => Promise<() => Promise<unknown>>;

const records = 'orders/records';

/** What to follow. Each is done again and again, so every round makes what it changes. */
const walks: Readonly<Record<string, Walk>> = {
  create: async (stage, round) => () => stage.ask('POST', records, stage.order(`order ${round}`)),
  upload: async (stage, round) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(stage.order(`order ${round}`))) form.set(name, String(value));
    form.set('receipt', new File([`receipt ${round}`], 'receipt.txt'));
    return () => stage.ask('POST', records, form);
  },
  list: async (stage, round) => {
    await stage.addOrder(`order ${round}`);
    return () => stage.ask('GET', `${records}?filter=(title='order ${round}')&sort=-created`);
  },
  'list with fields': async (stage, round) => {
    await stage.addOrder(`order ${round}`);
    return () => stage.ask('GET', `${records}?fields=id,title&filter=(title='order ${round}')&sort=-created`);
  },
  view: async (stage, round) => {
    const id = await stage.addOrder(`order ${round}`);
    return () => stage.ask('GET', `${records}/${id}`);
  },
  update: async (stage, round) => {
    const id = await stage.addOrder(`order ${round}`);
    return () => stage.ask('PATCH', `${records}/${id}`, { title: `changed ${round}` });
  },
  'delete with cascade': async (stage, round) => {
    const order = await stage.addOrder(`order ${round}`);
    for (const count of [1, 2]) await stage.ask('POST', 'lines/records', { order, count });
    return () => stage.ask('DELETE', `${records}/${order}`);
  },
  /** From the create to the settled delivery; the thread that sends is not counted. */
  delivery: async (stage, round) => {
    if (round === 0) await stage.addEndpoint();
    const settled = stage.settled();
    return async () => {
      await stage.addOrder(`order ${round}`);
      await stage.untilSettled(settled + 1);
    };
  },
  /** From the create to the event at the client. */
  'realtime event': async (stage, round) => {
    if (round === 0) await stage.subscribe();
    return async () => {
      await Promise.all([
        stage.addOrder(`order ${round} in realtime`),
        stage.untilEvent(`order ${round} in`),
      ]);
    };
  },
};

export const walkNames: readonly string[] = Object.keys(walks);

const warmRounds = 5;
/** A walk is what each of these rounds ran. A timer of the service that fires in some of them is no part of it. */
const walkRounds = 8;
/**
 * For so long the service is watched without a request, which is longer than its frequent timers take: those that fire on a busy machine
 * in every round are known by it, and what a commit wakes beside the request.
 */
const idleMs = 2_500;
const root = fileURLToPath(new URL('../../src/', import.meta.url));

/** Returns what the request runs, by the paths of the files in src/. */
export async function walkOf(name: string): Promise<readonly WalkedFile[]> {
  const data = mkdtempSync(join(tmpdir(), 'chancery-walk-'));
  const nothing = (): void => undefined;
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const walk = walks[name];
  if (walk === undefined) throw new Error(`expected one of ${walkNames.join(', ')}, got ${name}`);
  const app = await startApp(readConfig({ data, port: '0', dev: true }, {}), { logger });
  const stage = await WalkStage.prepare(app, data);
  try {
    for (let round = 0; round < warmRounds; round += 1) await (await walk(stage, round))();
    const followed: (readonly WalkedFile[])[] = [];
    for (let round = 0; round < walkRounds; round += 1)
      followed.push(await follow(await walk(stage, warmRounds + round)));
    const idle = await follow(async () => {
      stage.wakeDispatcher();
      await wait(idleMs);
    });
    const own = inAll(followed).map(({ path, functions }) => {
      const running = idle.find((file) => file.path === path)?.functions ?? [];
      return { path, functions: functions.filter((name) => !running.includes(name)) };
    });
    return own
      .filter(({ functions }) => functions.length > 0)
      .map(({ path, functions }) => ({
        path,
        functions: functions.map((name) => name.replace(/@\d+$/, '')),
      }));
  } finally {
    await stage.close();
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

async function follow(work: () => Promise<unknown>): Promise<readonly WalkedFile[]> {
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
          // With its place: a file may have several of one name.
          .map(({ functionName, ranges }) => `${functionName || 'arrow'}@${ranges[0]?.startOffset}`),
      }))
      .filter(({ functions }) => functions.length > 0)
      .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  } finally {
    session.disconnect();
  }
}
