import { startChild } from './support/child.ts';
import { median } from './support/median.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { processorTimeUs } from './support/processor-time.ts';
import { startService } from './support/service.ts';

/**
 * How long from the start of the process to its first answer, to a list of records? On data that are there, and with what Node
 * keeps of compiled modules, as at every start but the first.
 */
export async function start(options: BenchOptions): Promise<void> {
  const service = await startService(undefined, options);
  await service.child.stop();
  const times: number[] = [];
  const processorTimes: number[] = [];
  for (let run = 0; run < options.runs; run += 1) {
    const startedMs = performance.now();
    const child = await startChild('src/main.ts', service.args);
    const response = await fetch(`${child.url}/api/collections/bench/records`);
    if (!response.ok) throw new Error(`The first answer was ${response.status}.`);
    times.push(performance.now() - startedMs);
    processorTimes.push((processorTimeUs(child.pid) ?? Number.NaN) / 1_000);
    await child.stop();
  }
  await service.stop();
  const most = floorOf(options, { sqlite: 500, postgres: 1_000 });
  const ms = Math.round(median(times));
  const [least, longest] = [Math.round(Math.min(...times)), Math.round(Math.max(...times))];
  const line = {
    what: 'start',
    engine: engineOf(options),
    ms,
    leastMs: least,
    mostMs: longest,
    processorMs: Math.round(median(processorTimes)),
    allowedMs: most,
  };
  process.stdout.write(`${JSON.stringify({ ...line, runs: options.runs })}\n`);
  process.stderr.write(
    `  start to first answer ${ms} ms (${least}–${longest}), ${ms <= most ? 'within' : 'ABOVE'} ${most} ms; processor ${line.processorMs} ms\n`,
  );
}
