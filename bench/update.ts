import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { runLoad, type Load } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';

const records = 1_000;

/** How fast is a change of one field, durable, with the event and one delivery written? Each request changes another record. */
export async function update(options: BenchOptions): Promise<void> {
  const { seconds } = options;
  const service = await startService(0, options);
  const endpoint = await service.api('/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  await service.api(`/api/webhooks/endpoints/${String(endpoint['id'])}/pause`, {});
  const made = Array.from({ length: records }, (_, n) =>
    service.api('/api/collections/bench/records', sampleRecord(n)),
  );
  const paths = (await Promise.all(made)).map(({ id }) => `/api/collections/bench/records/${String(id)}`);
  const bytes = JSON.stringify(await service.api(paths[0] ?? '')).length;
  const bare = await startChild('bench/support/bare-server.ts', [String(bytes)], { core: 0 });
  let count = 0;
  const load = ({ url, pid }: Pick<Load, 'url' | 'pid'>, pathOf: (n: number) => string): Load => ({
    url,
    pid,
    method: 'PATCH',
    // Another value each time: one that is as it was changes nothing and writes no event.
    next: () => ({ path: pathOf((count += 1)), body: `{"views":${count}}` }),
    seconds,
  });
  await compare(
    {
      what: 'update one field',
      engine: engineOf(options),
      rows: records,
      floor: floorOf(options, { sqlite: 0.45, postgres: 0.22 }),
      ours: () => runLoad(load(service, (n) => paths[n % records] ?? '')),
      ceiling: () => runLoad(load(bare, () => '/')),
    },
    options,
  );
  await Promise.all([service.stop(), bare.stop()]);
}
