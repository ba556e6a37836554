import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { fillTable } from './support/fill-table.ts';
import { runLoad } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleColumns } from './support/sample-record.ts';
import { startService } from './support/service.ts';

/** How fast is a page of 30 records, with a filter and a sort that an index serves? Without totals and with them. */
export async function list(options: BenchOptions): Promise<void> {
  const { runs, seconds, rows } = options;
  const service = await startService(0, options);
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  const query = `filter=${encodeURIComponent("(author='writer7@example.com')")}&sort=-created&perPage=30`;
  const path = `/api/collections/bench/records?${query}`;
  const page = await service.api(`${path}&skipTotal=1`);
  const bytes = JSON.stringify(page).length;
  const bare = await startChild('bench/support/bare-server.ts', [String(bytes)], { core: 0 });
  const ceiling = () => runLoad({ ...bare, seconds });
  for (const [what, floors, suffix] of [
    ['list 30, indexed, skipTotal', { sqlite: 0.5, postgres: 0.25 }, '&skipTotal=1'],
    ['list 30, indexed, with totals', { sqlite: 0.25, postgres: 0.15 }, ''],
  ] as const) {
    const ours = () => runLoad({ url: service.url + path + suffix, pid: service.pid, seconds });
    const floor = floorOf(options, floors);
    await compare({ what, engine: engineOf(options), rows, floor, ours, ceiling }, runs);
  }
  await Promise.all([service.stop(), bare.stop()]);
}
