import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { runLoad, type Load, type LoadResult } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';
import { startWritingServer } from './support/start-writing-server.ts';

const records = 1_000;

/**
 * How fast is a change of one field, durable, with the event and one delivery written? Each request changes another record. On SQLite
 * also against a route that does nothing but read the row, change it and insert the other two.
 */
export async function update(options: BenchOptions): Promise<void> {
  const { seconds } = options;
  const service = await startService(0, options);
  const endpoint = await service.api('/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  await service.api(`/api/webhooks/endpoints/${String(endpoint['id'])}/pause`, {});
  const made = Array.from({ length: records }, (_, n) =>
    service.api('/api/collections/bench/records', sampleRecord(n)),
  );
  const ids = (await Promise.all(made)).map(({ id }) => String(id));
  const path = '/api/collections/bench/records';
  const bytes = JSON.stringify(await service.api(`${path}/${ids[0] ?? ''}`)).length;
  const bare = await startChild('bench/support/bare-server.ts', [String(bytes)], { core: 0 });
  let count = 0;
  const patch = (
    { url, pid }: Pick<Load, 'url' | 'pid'>,
    pathOf: (id: string) => string,
  ): Promise<LoadResult> =>
    runLoad({
      url,
      pid,
      method: 'PATCH',
      // Another value each time: one that is as it was changes nothing and writes no event.
      next: () => ({ path: pathOf(ids[(count += 1) % records] ?? ''), body: `{"views":${count}}` }),
      seconds,
    });
  const ours = (): Promise<LoadResult> => patch(service, (id) => `${path}/${id}`);
  const toBare = (): Promise<LoadResult> => patch(bare, () => '/');
  const question = { engine: engineOf(options), rows: records, ours };
  const compareUpdates = async (): Promise<void> => {
    const writing = await startWritingServer(service, bytes);
    const updates = (): Promise<LoadResult> => patch(writing, (id) => `/${id}`);
    await compare({ ...question, what: 'the same, of mere updates', ceiling: updates }, options);
    await compare({ ...question, what: 'mere updates', ours: updates, ceiling: toBare }, options);
    await writing.stop();
  };
  const floor = floorOf(options, { sqlite: 0.45, postgres: 0.22 });
  await compare({ ...question, what: 'update one field', floor, ceiling: toBare }, options);
  if (options.postgres === undefined) await compareUpdates();
  await Promise.all([service.stop(), bare.stop()]);
}
