import { compare } from './support/compare.ts';
import { fillTable } from './support/fill-table.ts';
import { runLoad } from './support/load.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { sampleColumns } from './support/sample-record.ts';
import { startService, type Service } from './support/service.ts';

const perPage = 30;
const deepPage = 3_000;
/** Of the steps that lead there: a cursor does not mind how long the pages before it were. */
const stepMax = 1_000;

/** What does page 3,000 of a list cost against its first one, when both are read by cursor? */
export async function cursor(options: BenchOptions): Promise<void> {
  const { seconds } = options;
  const behind = (deepPage - 1) * perPage;
  const rows = Math.max(options.rows, behind + 2 * perPage);
  const service = await startService(0, options);
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  for (const [what, sort] of [
    ['page 3,000 by cursor', ''],
    ['page 3,000 by cursor, by time', '&sort=-created'],
  ] as const) {
    const path = `/api/collections/bench/records?perPage=${perPage}${sort}`;
    const deep = await cursorBehind(service, behind, sort);
    const load = (from: string) => () =>
      runLoad({ url: `${service.url}${path}&cursor=${from}`, pid: service.pid, seconds });
    const ours = load(encodeURIComponent(deep));
    await compare({ what, engine: engineOf(options), rows, floor: 0.9, ours, ceiling: load('') }, options);
  }
  await service.stop();
}

/** As a guest, as which the load asks: a cursor is good for whom it was made. */
async function cursorBehind(service: Service, rows: number, sort: string): Promise<string> {
  let at = '';
  for (let left = rows; left > 0; left -= stepMax) {
    const path = `/api/collections/bench/records?perPage=${Math.min(stepMax, left)}${sort}&fields=id`;
    const answer = await fetch(`${service.url}${path}&cursor=${encodeURIComponent(at)}`);
    // A page that is read by cursor has it.
    at = ((await answer.json()) as { readonly nextCursor: string }).nextCursor;
  }
  return at;
}
