import { compare, type Comparison } from './support/compare.ts';
import { fillTable } from './support/fill-table.ts';
import { runLoad, type Load } from './support/load.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { sampleCollection, sampleColumns, sampleRecord } from './support/sample-record.ts';
import { startService, type Service } from './support/service.ts';

const smallRows = 10_000;
const viewedMax = 20_000;

/**
 * What is left of creates and views of a collection that has grown to `--rows`, against one of 10,000 in the same instance? Each view
 * asks for another record, out of all of the table: what is seen often is in memory in any case.
 */
export async function growth(options: BenchOptions): Promise<void> {
  const { rows } = options;
  const service = await startService(0, options);
  await service.api('/api/collections', sampleCollection('small'));
  const startedMs = performance.now();
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  process.stderr.write(
    `  ${rows} rows were made in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s\n`,
  );
  const common = { engine: engineOf(options), rows, floor: 0.8 };
  await compare({ ...common, ...(await views(service, options)) }, options);
  await compare({ ...common, ...creates(service, options) }, options);
  await service.stop();
}

type Question = Pick<Comparison, 'what' | 'ours' | 'ceiling'>;

async function views(service: Service, options: BenchOptions): Promise<Question> {
  await refill(service);
  const viewAll = async (name: string, rows: number) => {
    const step = Math.max(1, Math.floor(rows / viewedMax));
    const ids = await service.store.texts(
      `SELECT id FROM ${name} WHERE "$position" % ${step} = 0 LIMIT ${viewedMax}`,
    );
    let count = 0;
    const next: Load['next'] = () => ({
      path: `/api/collections/${name}/records/${ids[(count += 1) % ids.length] ?? ''}`,
    });
    return () => runLoad({ url: service.url, pid: service.pid, next, seconds: options.seconds });
  };
  return {
    what: 'view, against 10,000 rows',
    ours: await viewAll('bench', options.rows),
    ceiling: await viewAll('small', smallRows),
  };
}

function creates(service: Service, { seconds }: BenchOptions): Question {
  const body = JSON.stringify(sampleRecord(1));
  const createIn = (name: string) => {
    const url = `${service.url}/api/collections/${name}/records`;
    return runLoad({ url, pid: service.pid, method: 'POST', body, seconds });
  };
  return {
    what: 'create, against 10,000 rows',
    ours: () => createIn('bench'),
    ceiling: async () => {
      // What the run before has made is many times as much.
      await refill(service);
      return createIn('small');
    },
  };
}

async function refill({ store }: Service): Promise<void> {
  await store.run('DELETE FROM small');
  await fillTable(store, 'small', { count: smallRows, columns: sampleColumns });
}
