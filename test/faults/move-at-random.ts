import assert from 'node:assert/strict';
import type { App } from '../../src/app.ts';
import { HostPool } from '../../src/hosts/host-pool.ts';
import { Random } from './random.ts';

const pauseMsMax = 60;
/** As in crashing-server.ts. */
const threads = 3;

/** Moves a random instance to a random thread, again and again, and prints a line for each. */
export function moveAtRandom({ hosts: { host }, data }: App, seed: number): void {
  assert.ok(host instanceof HostPool);
  const random = new Random(seed);
  const next = async (): Promise<void> => {
    const entry = random.pick(data.directory.all());
    assert.ok(entry !== undefined);
    await host.move(entry.id, random.integer(0, threads - 1));
    process.stdout.write('moved\n');
    setTimeout(() => void next(), random.integer(0, pauseMsMax)).unref();
  };
  void next();
}
