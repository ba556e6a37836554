import { fillTable } from './support/fill-table.ts';
import { runLoad, type Load } from './support/load.ts';
import { median } from './support/median.ts';
import { type BenchOptions, engineOf, warmUpsOf } from './support/options.ts';
import { sampleColumns, sampleRecord } from './support/sample-record.ts';
import { startService } from './support/service.ts';
import { signUp } from './support/sign-up.ts';

const fieldRule = 'author = "writer7@example.com" || @request.auth.id != ""';
const rowRule = 'views >= 0 && title != @request.auth.id && author != @request.headers.x_none';
const bodyRule = 'views >= 0 && @request.body.title = title && title != @request.auth.id';

/** What does a rule cost? The server's processor time for a view and a create of one account: without a rule, with one that the caller decides, and with one that the record decides. */
export async function ruleCost(options: BenchOptions): Promise<void> {
  const { seconds, rows } = options;
  const service = await startService(0, options);
  const { url, pid } = service;
  await fillTable(service.store, 'bench', { count: rows, columns: sampleColumns });
  const asker = await signUp(service);
  const headers = { authorization: asker.token };
  const ids = await service.store.texts('SELECT id FROM bench LIMIT 100');
  const records = '/api/collections/bench/records';
  const body = JSON.stringify(sampleRecord(1));
  const loads: Readonly<Record<'viewRule' | 'createRule', Load>> = {
    viewRule: { url, pid, headers, seconds, paths: ids.map((id) => `${records}/${id}`) },
    createRule: { url: url + records, pid, headers, seconds, method: 'POST', body },
  };
  const lines = [
    ['view without a rule', 'viewRule', ''],
    ['view, the caller decides', 'viewRule', fieldRule],
    ['view, the record decides', 'viewRule', rowRule],
    ['create without a rule', 'createRule', ''],
    ['create, the caller decides', 'createRule', fieldRule],
    ['create, the record decides', 'createRule', bodyRule],
  ] as const;
  for (const [what, name, rule] of lines) {
    await service.api('/api/collections/bench', { [name]: rule }, 'PATCH');
    for (let warmUp = 0; warmUp < warmUpsOf(options); warmUp += 1) await runLoad(loads[name]);
    const times: number[] = [];
    for (let run = 0; run < options.runs; run += 1) times.push((await runLoad(loads[name])).processorUs ?? 0);
    const processorUs = Math.round(median(times));
    process.stdout.write(
      `${JSON.stringify({ what, engine: engineOf(options), processorUs, runs: times.length })}\n`,
    );
    process.stderr.write(`  ${what}: ${processorUs} µs of processor time\n`);
  }
  await service.stop();
}
