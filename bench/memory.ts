import { setTimeout as sleep } from 'node:timers/promises';
import { startChild, type Child } from './support/child.ts';
import { fillTable } from './support/fill-table.ts';
import { runLoad } from './support/load.ts';
import { median } from './support/median.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { residentMb } from './support/resident-mb.ts';
import { sampleColumns, sampleRecord } from './support/sample-record.ts';
import { startService, type Service } from './support/service.ts';

const idleMbMax = 90;
const loadedMbMax = 250;
/** After which a server that nobody asks anything is idle. */
const settleMs = 5_000;
const sampleMs = 50;

/**
 * How much memory does the server's process have in the system's eyes (RSS), when it has answered one request and then none for a
 * while, and at most while it creates, views and lists as fast as it can? Started again for each run.
 */
export async function memory(options: BenchOptions): Promise<void> {
  const { runs, rows } = options;
  const service = await startService(undefined, options);
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  const [id = ''] = await service.store.texts('SELECT id FROM bench LIMIT 1');
  await service.child.stop();
  const idles: number[] = [];
  const loadeds: number[] = [];
  // All that are idle first: a load leaves records behind, of which the next list would count as many more.
  for (let run = 0; run < runs; run += 1) idles.push(await inServer(service, whileIdle));
  for (let run = 0; run < runs; run += 1)
    loadeds.push(await inServer(service, (child) => mostUnderLoad(child, id, options)));
  await service.stop();
  const [idle, loaded] = [Math.round(median(idles)), Math.round(median(loadeds))];
  const line = { what: 'memory', engine: engineOf(options), rows, idleMb: idle, idleMbMax, loadedMb: loaded };
  process.stdout.write(`${JSON.stringify({ ...line, loadedMbMax, idles, loadeds, runs })}\n`);
  process.stderr.write(
    `  memory idle ${idle} MB, ${idle <= idleMbMax ? 'within' : 'ABOVE'} ${idleMbMax}; under load ${loaded} MB, ${loaded <= loadedMbMax ? 'within' : 'ABOVE'} ${loadedMbMax}\n`,
  );
}

async function inServer({ args }: Service, measure: (server: Child) => Promise<number>): Promise<number> {
  const child = await startChild('src/main.ts', args);
  const megabytes = await measure(child);
  await child.stop();
  return megabytes;
}

async function whileIdle({ url, pid }: Child): Promise<number> {
  await fetch(`${url}/api/collections/bench/records`);
  await sleep(settleMs);
  return residentMb(pid);
}

async function mostUnderLoad({ url, pid }: Child, id: string, { seconds }: BenchOptions): Promise<number> {
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, residentMb(pid))), sampleMs);
  const path = `${url}/api/collections/bench/records`;
  await runLoad({ url: path, method: 'POST', body: JSON.stringify(sampleRecord(1)), seconds });
  await runLoad({ url: `${path}/${id}`, seconds });
  await runLoad({ url: `${path}?sort=-created&perPage=30&skipTotal=1`, seconds });
  clearInterval(watch);
  return most;
}
