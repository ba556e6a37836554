import assert from 'node:assert/strict';

export interface LinearBound {
  readonly length: number;
  readonly factor?: number;
  readonly restMs?: number;
}

/**
 * Fails if `work` takes more processor time on this thread than `factor` times what JSON.parse takes for as many characters, and
 * `restMs` besides. Other processes do not count, however busy they keep the machine. It has three tries, so that it does not fail
 * because one of them collects garbage or compiles.
 */
export async function assertLinear(
  what: string,
  { length, factor = 40, restMs = 20 }: LinearBound,
  work: () => unknown,
): Promise<void> {
  const msMax = restMs + factor * length * parseMsPerCharacter();
  const tries: number[] = [];
  while (tries.length < 3) {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    tries.push((user + system) / 1_000);
    if ((user + system) / 1_000 <= msMax) return;
  }
  assert.fail(`${what} took ${tries.join(', ')} ms, more than ${msMax}`);
}

let measured: number | undefined;

function parseMsPerCharacter(): number {
  if (measured !== undefined) return measured;
  const sample = `[${'1,'.repeat(2_000_000)}1]`;
  const before = process.threadCpuUsage();
  JSON.parse(sample);
  const { user, system } = process.threadCpuUsage(before);
  return (measured = (user + system) / 1_000 / sample.length);
}
