import type { Attacks, Target } from '../support/attack.ts';
import { fillTable } from '../support/fill-table.ts';
import { sampleCollection, sampleRecord } from '../support/sample-record.ts';

const records = '/api/collections/bench/records';
/** True of no record, which only a look at all pairs shows. */
const joins = '@collection.bench.title ?> @collection.bench:other.body';
/** A constant that is compared in all rows. */
const scan = `@collection.bench.body ?~ 'nothing of this kind'`;
const body = JSON.stringify(sampleRecord(1));

/** Writes of records. */
export const writeAttacks: Attacks = {
  'create of a guest under a rule with joins': {
    clients: 1,
    prepare: ruleOf({ createRule: joins }),
    run: ({ ask }) => ask(records, { body, isGuest: true }),
  },
  '20 creates of guests under a rule with joins at once': {
    clients: 20,
    prepare: ruleOf({ createRule: joins }),
    run: ({ ask }) => ask(records, { body, isGuest: true }),
  },
  '20 updates under a rule with joins at once': {
    clients: 20,
    prepare: async (target) => {
      await target.api(records, { ...sampleRecord(1), id: 'updated00000000' });
      await ruleOf({ updateRule: joins })(target);
    },
    run: ({ ask }) => ask(`${records}/updated00000000`, { method: 'PATCH', body, isGuest: true }),
  },
  '20 creates under a rule that reads all rows': {
    clients: 20,
    prepare: ruleOf({ createRule: scan }),
    run: ({ ask }) => ask(records, { body, isGuest: true }),
  },
  'batches of 50 creates under a rule that reads all rows': {
    clients: 4,
    prepare: ruleOf({ createRule: `${scan} || title != ''` }),
    run: ({ ask }) => ask('/api/batch', { body: batchOf(50), isGuest: true }),
  },
  'creates, 64 at once': { clients: 64, run: ({ ask }) => ask(records, { body }) },
  'batches of 50 creates, 8 at once': {
    clients: 8,
    run: ({ ask }) => ask('/api/batch', { body: batchOf(50) }),
  },
  'updates of one record, 64 at once': {
    clients: 64,
    prepare: ({ api }) => api(records, { ...sampleRecord(1), id: 'updated00000000' }),
    run: ({ ask, next }) =>
      ask(`${records}/updated00000000`, { method: 'PATCH', body: JSON.stringify({ views: next() }) }),
  },
  'idempotency keys, 32 at once': {
    clients: 32,
    run: ({ ask, next }) => ask(records, { body, headers: { 'idempotency-key': `key-${next()}` } }),
  },
  'deletes with 1,000 referring records': {
    clients: 4,
    prepare: prepareReferring,
    run: async ({ ask, next }) => {
      const id = `p${String(next()).padStart(14, '0')}`;
      await ask('/api/collections/parents/records', { body: JSON.stringify({ id }) });
      const requests = Array.from({ length: 50 }, () => ({
        method: 'POST',
        url: '/api/collections/children/records',
        body: { parent: id },
      }));
      for (let batch = 0; batch < 20; batch += 1)
        await ask('/api/batch', { body: JSON.stringify({ requests }) });
      await ask(`/api/collections/parents/records/${id}`, { method: 'DELETE' });
    },
  },
  'collections of 50,000 records truncated': {
    clients: 1,
    prepare: async ({ api, store }) => {
      await api('/api/collections', sampleCollection('emptied'));
      await fillTable(store, 'emptied', { count: 50_000, columns: { title: `'x'` } });
    },
    run: ({ ask }) => ask('/api/collections/emptied/truncate', { method: 'DELETE' }),
  },
};

function ruleOf(rules: object): (target: Target) => Promise<unknown> {
  return ({ api }) => api('/api/collections/bench', rules, 'PATCH');
}

function batchOf(count: number): string {
  const requests = Array.from({ length: count }, () => ({
    method: 'POST',
    url: records,
    body: sampleRecord(1),
  }));
  return JSON.stringify({ requests });
}

async function prepareReferring({ api }: Target): Promise<void> {
  const { id } = await api('/api/collections', { name: 'parents', fields: [] });
  const relation = { name: 'parent', type: 'relation', collectionId: id, cascadeDelete: true, maxSelect: 1 };
  await api('/api/collections', { name: 'children', fields: [relation] });
}
