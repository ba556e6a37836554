import type { BenchOptions } from './support/options.ts';
import { recovery, replay, waiting } from './webhook-backlog.ts';
import { besideFlood, besideHanging, besideSilent } from './webhook-isolation.ts';
import { webhookLatency } from './webhook-latency.ts';

const lines = new Map(
  Object.entries({
    latency: webhookLatency,
    hanging: besideHanging,
    silent: besideSilent,
    recovery,
    flood: besideFlood,
    waiting,
    replay,
  }),
);

/**
 * Does the delivery of webhooks keep what it promises? Each line has a server of its own, receivers in processes of their own, and a
 * target instead of a ceiling. Nothing is pinned: sending has a thread of its own. `--only NAME` chooses a line.
 */
export async function webhooks(options: BenchOptions): Promise<void> {
  const { only } = options;
  const chosen = [...lines].filter(([name]) => only === undefined || name === only);
  if (chosen.length === 0)
    throw new Error(`There is no line ${String(only)}: expected ${[...lines.keys()].join(', ')}.`);
  for (const [, line] of chosen) await line(options);
}
