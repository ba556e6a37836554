import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { fillTable } from './support/fill-table.ts';
import { inTurn } from './support/in-turn.ts';
import { runLoad } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleColumns, sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';

/** How many records everybody asks for: the server knows what they looked like the last time. */
const wellKnown = 100;

/** How fast is one record by its id? Of some that are asked for all the time, and of all that there are, one after the other. */
export async function view(options: BenchOptions): Promise<void> {
  const { seconds, rows } = options;
  const service = await startService(0, options);
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  const record = await service.api('/api/collections/bench/records', sampleRecord(1));
  const bytes = JSON.stringify(record).length;
  const bare = await startChild('bench/support/bare-server.ts', [String(bytes)], { core: 0 });
  const ids = await service.store.texts('SELECT id FROM bench');
  const { url, pid } = service;
  const all = ids.map((id) => `/api/collections/bench/records/${id}`);
  for (const [what, asked, ceiling] of [
    [`view by id, ${wellKnown} records in turn`, { paths: all.slice(0, wellKnown) }, {}],
    ['view by id, all records in turn', { next: inTurn(all) }, { next: inTurn(['/']) }],
  ] as const) {
    await compare(
      {
        what,
        engine: engineOf(options),
        rows,
        floor: floorOf(options, { sqlite: 0.7, postgres: 0.35 }),
        ours: () => runLoad({ url, pid, ...asked, seconds }),
        ceiling: () => runLoad({ ...bare, ...ceiling, seconds }),
      },
      options,
    );
  }
  await Promise.all([service.stop(), bare.stop()]);
}
