import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { runLoad } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';

/**
 * How fast are durable creates? Validated, synced (`synchronous=FULL`), with the event and one delivery written. The endpoint
 * is paused, so that the server's processor writes records and nothing else; `deliver` asks about sending.
 */
export async function create(options: BenchOptions): Promise<void> {
  const { runs, seconds } = options;
  const service = await startService(0, options);
  const endpoint = await service.api('/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  await service.api(`/api/webhooks/endpoints/${String(endpoint['id'])}/pause`, {});
  const body = JSON.stringify(sampleRecord(1));
  const created = await service.api('/api/collections/bench/records', sampleRecord(1));
  const bytes = JSON.stringify(created).length;
  const bare = await startChild('bench/support/bare-server.ts', [String(bytes), '201'], { core: 0 });
  const url = `${service.url}/api/collections/bench/records`;
  await compare(
    {
      what: 'create, durable, one endpoint',
      engine: engineOf(options),
      rows: 0,
      floor: floorOf(options, { sqlite: 0.5, postgres: 0.25 }),
      ours: () => runLoad({ url, pid: service.pid, method: 'POST', body, seconds }),
      ceiling: () => runLoad({ ...bare, method: 'POST', body, seconds }),
    },
    runs,
  );
  await Promise.all([service.stop(), bare.stop()]);
}
