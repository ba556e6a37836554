import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../src/cli/commands/run-command.ts';
import { sampleCollection } from './sample-record.ts';
import type { Service } from './service.ts';
import { superuserApi, type Api } from './superuser-api.ts';

/** An instance: the service's first one, or its neighbour. */
export interface BenchInstance {
  readonly url: string;
  readonly api: Api;
}

/** Makes another instance beside the first one, with the same collection. */
export async function makeNeighbour(service: Pick<Service, 'url' | 'args'>): Promise<BenchInstance> {
  const data = service.args.slice(service.args.indexOf('--data'), service.args.indexOf('--data') + 2);
  const [identity, password] = ['neighbour@example.com', 'neighbour-password'];
  await runCommand(['instance', 'create', 'neighbour', ...data], process);
  await runCommand(['superuser', 'upsert', identity, password, '--instance', 'neighbour', ...data], process);
  const url = `${service.url}/i/neighbour`;
  // The server looks for new instances four times a second.
  while ((await fetch(`${url}/api/health`)).status === 404) await sleep(50);
  const api = await superuserApi(url, { identity, password });
  await api('/api/collections', sampleCollection('bench'));
  return { url, api };
}
