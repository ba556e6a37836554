import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { runLoad, type Load, type LoadResult } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';
import { startWritingServer } from './support/start-writing-server.ts';

/**
 * How fast are durable creates? Validated, synced (`synchronous=FULL`), with the event and one delivery written. The endpoint
 * is paused, so that the server's processor writes records and nothing else; `deliver` asks about sending. On SQLite also against
 * a route that does nothing but insert the same three rows, as the most that one thread leaves for a service.
 */
export async function create(options: BenchOptions): Promise<void> {
  const { seconds } = options;
  const service = await startService(0, options);
  const endpoint = await service.api('/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  await service.api(`/api/webhooks/endpoints/${String(endpoint['id'])}/pause`, {});
  const body = JSON.stringify(sampleRecord(1));
  const created = await service.api('/api/collections/bench/records', sampleRecord(1));
  const bytes = JSON.stringify(created).length;
  const url = `${service.url}/api/collections/bench/records`;
  const post = (server: Pick<Load, 'url' | 'pid'>): Promise<LoadResult> =>
    runLoad({ ...server, method: 'POST', body, seconds });
  const ours = (): Promise<LoadResult> => post({ url, pid: service.pid });
  const question = { engine: engineOf(options), rows: 0, ours };
  const bare = await startChild('bench/support/bare-server.ts', [String(bytes), '201'], { core: 0 });
  const compareInserts = async (): Promise<void> => {
    const inserting = await startWritingServer(service, bytes);
    const inserts = (): Promise<LoadResult> => post(inserting);
    await compare({ ...question, what: 'the same, of mere inserts', ceiling: inserts }, options);
    await compare({ ...question, what: 'mere inserts', ours: inserts, ceiling: () => post(bare) }, options);
    await inserting.stop();
  };
  const what = 'create, durable, one endpoint';
  const floor = floorOf(options, { sqlite: 0.5, postgres: 0.25 });
  await compare({ ...question, what, floor, ceiling: () => post(bare) }, options);
  if (options.postgres === undefined) await compareInserts();
  await Promise.all([service.stop(), bare.stop()]);
}
