import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, type Child } from './child.ts';
import type { BenchOptions } from './options.ts';
import { sampleCollection, sampleRecord } from './sample-record.ts';
import { openStore, type Store } from './store.ts';
import { superuserApi, type Api } from './superuser-api.ts';
import { runCommand } from '../../src/cli/commands/run-command.ts';
import { ask } from '../../test/support/postgres.ts';

/** A real server with one collection that everybody may use, on a data directory that goes with it. */
export interface Service {
  readonly url: string;
  readonly pid: number | undefined;
  readonly child: Child;
  /** What `src/main.ts` is started with, for a question that starts it again on the same data. */
  readonly args: readonly string[];
  /** Where its data is, for what would take too long over HTTP. */
  readonly store: Store;
  readonly api: Api;
  /** Of the superuser. */
  readonly token: string;
  stop(): Promise<void>;
}

const email = 'bench@example.com';
const password = 'bench-password';

/** `further` are arguments of `serve`. */
export async function startService(
  core: number | undefined,
  { postgres }: BenchOptions,
  further: readonly string[] = [],
): Promise<Service> {
  if (postgres !== undefined) {
    process.env['CHANCERY_POSTGRES'] = await createDatabase(postgres);
    process.env['CHANCERY_KEY'] = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';
  }
  const data = mkdtempSync(join(tmpdir(), 'chancery-bench-'));
  await runCommand(['superuser', 'upsert', email, password, '--data', data], process);
  const args = ['serve', '--data', data, '--port', '0', '--dev', ...further];
  const child = await startChild('src/main.ts', args, core === undefined ? {} : { core });
  const api = await superuserApi(child.url, { identity: email, password });
  const { token } = await api('/api/collections/_superusers/auth-refresh', {});
  await api('/api/collections', sampleCollection('bench'));
  return {
    url: child.url,
    pid: child.pid,
    child,
    args,
    store: openStore(data, process.env['CHANCERY_POSTGRES']),
    api,
    token: String(token),
    stop: async () => {
      await child.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Each question has one of its own; they are left for a look at them. */
export async function createDatabase(server: string): Promise<string> {
  const name = `chancery_bench_${Date.now().toString(36)}`;
  await ask(server, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Writes `count` sample records over HTTP, many at a time. */
export async function fill(service: Pick<Service, 'api'>, count: number): Promise<void> {
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await service.api('/api/collections/bench/records', sampleRecord(next));
    }
  };
  await Promise.all(Array.from({ length: 64 }, write));
}
