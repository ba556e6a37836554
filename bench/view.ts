import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { fillTable } from './support/fill-table.ts';
import { runLoad } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleColumns, sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';

/** How fast is one record by its id? */
export async function view(options: BenchOptions): Promise<void> {
  const { runs, seconds, rows } = options;
  const service = await startService(0, options);
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  const record = await service.api('/api/collections/bench/records', sampleRecord(1));
  const bare = await startChild('bench/support/bare-server.ts', [String(JSON.stringify(record).length)], {
    core: 0,
  });
  const url = `${service.url}/api/collections/bench/records/${String(record['id'])}`;
  await compare(
    {
      what: 'view by id',
      engine: engineOf(options),
      rows,
      floor: floorOf(options, { sqlite: 0.7, postgres: 0.35 }),
      ours: () => runLoad({ url, pid: service.pid, seconds }),
      ceiling: () => runLoad({ ...bare, seconds }),
    },
    runs,
  );
  await Promise.all([service.stop(), bare.stop()]);
}
