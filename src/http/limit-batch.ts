import { tooManyRequests } from '../base/errors.ts';
import type { BatchEntry } from '../records/batch.ts';
import type { Counted } from './admission.ts';
import { recordLabels } from './rate-limit-labels.ts';

/** Counts each item of a batch as if it had come alone. An item over its limit is replaced by a refusal, which fails in its turn. */
export async function limitBatch(
  counted: Counted,
  entries: readonly BatchEntry[],
): Promise<readonly BatchEntry[]> {
  if (!counted.instance.settings.current.rateLimits.enabled) return entries;
  // Starts every count before it awaits any: they keep their order, and share one query where nodes count together.
  return Promise.all(entries.map((entry) => limitEntry(counted, entry)));
}

async function limitEntry(counted: Counted, entry: BatchEntry): Promise<BatchEntry> {
  const { item, facts } = entry;
  if (item.kind === 'refused') return entry;
  const collection = counted.instance.collections.find(item.collection)?.name ?? item.collection;
  const id = 'id' in item ? item.id : undefined;
  // Whether an upsert creates or updates is known only later, so a rule for either applies to it.
  const actions = item.kind === 'upsert' ? ['create', 'update'] : [item.kind];
  const labels = recordLabels({ method: facts.method, collection, id, actions });
  const quota = await counted.request.server.admission.count(counted, labels);
  if (quota?.isExceeded !== true) return entry;
  return { facts, item: { kind: 'refused', error: tooManyRequests(quota.resetSeconds) } };
}
