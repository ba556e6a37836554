import type { BenchOptions } from './support/options.ts';
import { runLines } from './support/run-lines.ts';
import { recovery, replay, waiting } from './webhook-backlog.ts';
import { besideFlood, besideHanging, besideSilent } from './webhook-isolation.ts';
import { webhookLatency, webhookLatencyOfNodes } from './webhook-latency.ts';

/**
 * Does the delivery of webhooks keep what it promises? Each line has a server of its own, receivers in processes of their own, and a
 * target instead of a ceiling. Nothing is pinned: sending has a thread of its own. `--only NAME` chooses a line.
 */
export function webhooks(options: BenchOptions): Promise<void> {
  const lines = {
    latency: webhookLatency,
    nodes: webhookLatencyOfNodes,
    hanging: besideHanging,
    silent: besideSilent,
    recovery,
    flood: besideFlood,
    waiting,
    replay,
  };
  return runLines(lines, options);
}
