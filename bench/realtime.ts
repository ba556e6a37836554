import { fanOut, idleConnections } from './realtime-connections.ts';
import { firstSubscriber, firstOfCallers } from './realtime-latency.ts';
import type { BenchOptions } from './support/options.ts';
import { runLines } from './support/run-lines.ts';

/**
 * Does realtime keep what it promises? Each line has a server of its own, all clients in one other process, and a target instead of a
 * ceiling. Nothing is pinned. `--only NAME` chooses a line. There are no more clients than `--rows`.
 */
export function realtime(options: BenchOptions): Promise<void> {
  return runLines(
    { idle: idleConnections, 'fan-out': fanOut, first: firstSubscriber, callers: firstOfCallers },
    options,
  );
}
