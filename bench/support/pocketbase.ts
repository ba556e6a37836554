import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { startProgram } from './child.ts';
import type { Service } from './service.ts';
import { superuserApi } from './superuser-api.ts';

/** A PocketBase as it comes, on a data directory that goes with it. */
export interface Pocketbase extends Pick<Service, 'url' | 'pid' | 'api' | 'stop'> {
  readonly version: string;
}

const identity = { identity: 'bench@example.com', password: 'bench-password' };

/** Starts the program at a path on the processor `core`. Throws when it is none, or does not start. */
export async function startPocketbase(program: string, core: number): Promise<Pocketbase> {
  const run = (...args: readonly string[]): string => execFileSync(program, args, { encoding: 'utf8' });
  const version = /(\d+\.\d+\.\d+)/.exec(run('--version'))?.[1];
  if (version === undefined) throw new Error(`${program} does not say its version as PocketBase does.`);
  const data = mkdtempSync(join(tmpdir(), 'chancery-bench-'));
  const place = ['--dir', data, '--migrationsDir', join(data, 'migrations'), '--automigrate=false'];
  run('superuser', 'upsert', identity.identity, identity.password, ...place);
  const http = `127.0.0.1:${await freePort()}`;
  const child = await startProgram([program, 'serve', '--http', http, ...place], { core });
  return {
    version,
    url: child.url,
    pid: child.pid,
    api: await superuserApi(child.url, identity),
    stop: async () => {
      await child.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
