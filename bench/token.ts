import { compare } from './support/compare.ts';
import { fillTable } from './support/fill-table.ts';
import { runLoad } from './support/load.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { sampleColumns } from './support/sample-record.ts';
import { startService } from './support/service.ts';
import { signUp } from './support/sign-up.ts';

/** What may be left of the views of guests: the check of a token costs at most 15 % of a view. */
const floor = 0.85;

/** What does the check of a token cost a view? The same records, seen by somebody who has signed in and by a guest. */
export async function token(options: BenchOptions): Promise<void> {
  const { seconds, rows } = options;
  const service = await startService(0, options);
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  const asker = await signUp(service);
  const ids = await service.store.texts('SELECT id FROM bench LIMIT 100');
  const paths = ids.map((id) => `/api/collections/bench/records/${id}`);
  const guest = { url: service.url, pid: service.pid, paths, seconds };
  await compare(
    {
      what: 'view with a token, against a guest',
      engine: engineOf(options),
      rows,
      floor,
      ours: () => runLoad({ ...guest, headers: { authorization: asker.token } }),
      ceiling: () => runLoad(guest),
    },
    options,
  );
  await service.stop();
}
