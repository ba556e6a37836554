import { Client } from 'pg';
import { intervalOf } from './support/interval.ts';
import { runLoad } from './support/load.ts';
import { median } from './support/median.ts';
import { engineOf, warmUpsOf, type BenchOptions } from './support/options.ts';
import { sampleCollection, sampleRecord } from './support/sample-record.ts';
import { startService, type Service } from './support/service.ts';
import { timeRows } from './support/time-rows.ts';

const runsMin = 5;
/** What a create may lose by it (webhooks.md section 6). */
const costMax = 0.15;

/**
 * What do the event and one delivery cost a create? The same creates in a collection that one endpoint listens to, and in one
 * that tells nothing, in turns; each pair begins with the other side, so that a machine that slows down favours neither.
 */
export async function eventCost(options: BenchOptions): Promise<void> {
  const service = await startService(0, options);
  await service.api('/api/collections', sampleCollection('_silent'));
  const endpoint = await service.api('/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  await service.api(`/api/webhooks/endpoints/${String(endpoint['id'])}/pause`, {});
  const body = JSON.stringify(sampleRecord(1));
  const run = async (collection: string): Promise<number> => {
    const url = `${service.url}/api/collections/${collection}/records`;
    return (await runLoad({ url, method: 'POST', body, seconds: options.seconds })).perSecond;
  };
  const warmUps = warmUpsOf(options);
  for (let warmUp = 0; warmUp < warmUps; warmUp += 1) {
    await run('_silent');
    await run('bench');
  }
  const silent: number[] = [];
  const told: number[] = [];
  const runs = Math.max(runsMin, options.runs);
  for (let pair = 0; pair < runs; pair += 1) {
    if (pair % 2 === 0) silent.push(await run('_silent'));
    told.push(await run('bench'));
    if (pair % 2 === 1) silent.push(await run('_silent'));
  }
  const { mean, low, high } = intervalOf(told.map((perSecond, pair) => perSecond / (silent[pair] ?? 0)));
  const cost = { mean: 1 - mean, low: 1 - high, high: 1 - low };
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
  const perSecond = { told: Math.round(median(told)), silent: Math.round(median(silent)) };
  const line = { what: 'event cost', engine: engineOf(options), ...perSecond, ...cost, costMax, runs };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  process.stderr.write(
    `  the event and one delivery cost a create ${percent(cost.mean)} (95 %: ${percent(cost.low)} to ${percent(cost.high)}) of ${perSecond.silent}/s, ${verdict(cost)} ${percent(costMax)}\n`,
  );
  if (options.postgres !== undefined) await costOfRows(service);
  await service.stop();
}

/** What the rows take PostgreSQL alone. No bound of the above: with a service some of it passes while the node works. */
async function costOfRows(service: Service): Promise<void> {
  const client = new Client({ connectionString: process.env['CHANCERY_POSTGRES'] });
  await client.connect();
  const [schema = ''] = await service.store.texts('SELECT current_schema()');
  const times = await timeRows(client, schema);
  await client.end();
  process.stdout.write(`${JSON.stringify({ what: 'rows of an event, PostgreSQL alone', ...times })}\n`);
  const { recordUs, eventUs, deliveryUs } = times;
  const texts = [recordUs, eventUs, deliveryUs].map((time) => time.toFixed(1));
  process.stderr.write(
    `  PostgreSQL alone: ${texts[0]} µs for a record, ${texts[1]} for its event, ${texts[2]} for a delivery\n`,
  );
}

/** A mean says nothing where the interval holds both answers. */
function verdict({ low, high }: { readonly low: number; readonly high: number }): string {
  if (high <= costMax) return 'within';
  return low > costMax ? 'ABOVE' : 'UNDECIDED between less and more than';
}
