import { tooManyRequests } from '../limits/rate-limiter.ts';
import type { BatchEntry } from '../records/batch.ts';
import type { Counted } from './admission.ts';
import { recordLabels } from './rate-limit-labels.ts';

/** Counts each item of a batch as if it had come alone; one that comes too often fails when its turn comes. */
export async function limitBatch(
  counted: Counted,
  entries: readonly BatchEntry[],
): Promise<readonly BatchEntry[]> {
  if (!counted.instance.settings.current.rateLimits.enabled) return entries;
  // All are counted before any is waited for: in their order, and with one question where other nodes have to be asked.
  return Promise.all(entries.map((entry) => limitEntry(counted, entry)));
}

async function limitEntry(counted: Counted, entry: BatchEntry): Promise<BatchEntry> {
  const { item, facts } = entry;
  if (item.kind === 'refused') return entry;
  const collection = counted.instance.collections.find(item.collection)?.name ?? item.collection;
  const id = 'id' in item ? item.id : undefined;
  // Which of both it will be is known only later: with a rule for one of them an upsert comes under that.
  const actions = item.kind === 'upsert' ? ['create', 'update'] : [item.kind];
  const labels = recordLabels({ method: facts.method, collection, id, actions });
  const quota = await counted.request.server.admission.count(counted, labels);
  if (quota?.isExceeded !== true) return entry;
  return { facts, item: { kind: 'refused', error: tooManyRequests(quota.resetSeconds) } };
}
