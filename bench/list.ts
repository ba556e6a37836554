import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { fillTable } from './support/fill-table.ts';
import { runLoad } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleColumns, sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';

const authors = 100;
const writesPerSecond = 100;

/**
 * How fast is a page of 30 records, with a filter and a sort that an index serves? Of one author after the other, without totals and
 * with them; and while records are written, so that hardly any list is asked for twice before something has changed.
 */
export async function list(options: BenchOptions): Promise<void> {
  const { seconds, rows } = options;
  const service = await startService(0, options);
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  const paths = Array.from({ length: authors }, (_, author) => {
    const filter = encodeURIComponent(`(author='writer${author}@example.com')`);
    return `/api/collections/bench/records?filter=${filter}&sort=-created&perPage=30`;
  });
  const page = await service.api(`${paths[0]}&skipTotal=1`);
  const bytes = JSON.stringify(page).length;
  const bare = await startChild('bench/support/bare-server.ts', [String(bytes)], { core: 0 });
  const ceiling = () => runLoad({ ...bare, seconds });
  const { url, pid } = service;
  for (const [what, floors, suffix] of [
    ['list 30, indexed, skipTotal', { sqlite: 0.5, postgres: 0.25 }, '&skipTotal=1'],
    ['list 30, indexed, with totals', { sqlite: 0.25, postgres: 0.15 }, ''],
  ] as const) {
    const asked = paths.map((path) => path + suffix);
    const ours = () => runLoad({ url, pid, paths: asked, seconds });
    const floor = floorOf(options, floors);
    const list = { engine: engineOf(options), rows, ceiling };
    await compare({ ...list, what, floor, ours }, options);
    const write = { url: `${url}/api/collections/bench/records`, method: 'POST', connections: 1 } as const;
    const amongWrites = async () => {
      const body = JSON.stringify(sampleRecord(authors));
      const [lists] = await Promise.all([
        ours(),
        runLoad({ ...write, body, rate: writesPerSecond, seconds }),
      ]);
      return lists;
    };
    await compare(
      { ...list, what: `the same, ${writesPerSecond} writes a second`, ours: amongWrites },
      options,
    );
  }
  await Promise.all([service.stop(), bare.stop()]);
}
