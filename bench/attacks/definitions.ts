import type { Attacks, Attacker, Target } from '../support/attack.ts';
import { sampleCollection } from '../support/sample-record.ts';

const bench = '/api/collections/bench';

/** Changes of collections, with their tables. */
export const definitionAttacks: Attacks = {
  'import of 100 collections x 20 new fields': {
    clients: 1,
    prepare: importOf(100, 1),
    run: importMore(100, 20),
  },
  'import of 200 collections x 40 new fields': {
    clients: 1,
    prepare: importOf(200, 1),
    run: importMore(200, 40),
  },
  'import of 200 new collections x 5 fields': { clients: 1, run: importNew(200) },
  'index over all rows, made and dropped': {
    clients: 1,
    run: async (attacker) => {
      const indexes = [...sampleCollection('bench').indexes, 'CREATE INDEX idx_title ON bench (title, body)'];
      await patch(attacker, { indexes });
      await patch(attacker, { indexes: indexes.slice(0, -1) });
    },
  },
  'field of all rows from one value to several and back': {
    clients: 1,
    run: async (attacker) => {
      await patch(attacker, { fields: withCategory({ maxSelect: 3 }) });
      await patch(attacker, { fields: withCategory({ maxSelect: 1 }) });
    },
  },
  '20 fields of all rows from one value to several': {
    clients: 1,
    prepare: (target) =>
      patchOf(target, { fields: [...sampleCollection('bench').fields, ...selects(20, 1)] }),
    run: async (attacker) => {
      await patch(attacker, { fields: [...sampleCollection('bench').fields, ...selects(20, 3)] });
      await patch(attacker, { fields: [...sampleCollection('bench').fields, ...selects(20, 1)] });
    },
  },
  '100 fields added to all rows and removed': {
    clients: 1,
    run: async (attacker) => {
      await patch(attacker, { fields: [...sampleCollection('bench').fields, ...texts(100)] });
      await patch(attacker, { fields: sampleCollection('bench').fields });
    },
  },
  'collection renamed': {
    clients: 1,
    run: async (attacker) => {
      await patch(attacker, { name: 'bench_renamed' });
      await attacker.ask('/api/collections/bench_renamed', {
        method: 'PATCH',
        body: JSON.stringify({ name: 'bench' }),
      });
    },
  },
  'collections made and deleted, 8 at once': {
    clients: 8,
    run: async ({ ask, next }) => {
      const name = `c${next()}`;
      await ask('/api/collections', { body: JSON.stringify({ name, fields: texts(100) }) });
      await ask(`/api/collections/${name}`, { method: 'DELETE' });
    },
  },
  'lists of 200 collections, 8 at once': {
    clients: 8,
    prepare: importOf(200, 20),
    run: ({ ask }) => ask('/api/collections?perPage=500'),
  },
};

function importOf(count: number, fields: number): (target: Target) => Promise<unknown> {
  return ({ api }) =>
    api('/api/collections/import', { collections: collections('made', count, fields) }, 'PUT');
}

/** The collections that exist, each time with new fields. */
function importMore(count: number, fields: number): (attacker: Attacker) => Promise<unknown> {
  return ({ ask }) =>
    ask('/api/collections/import', {
      method: 'PUT',
      body: JSON.stringify({ collections: collections('made', count, fields) }),
    });
}

function importNew(count: number): (attacker: Attacker) => Promise<unknown> {
  return ({ ask, next }) =>
    ask('/api/collections/import', {
      method: 'PUT',
      body: JSON.stringify({ collections: collections(`new${next()}`, count, 5), deleteMissing: false }),
    });
}

function collections(prefix: string, count: number, fields: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({ name: `${prefix}_${at}`, fields: texts(fields) }));
}

function texts(count: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({ name: `f${at}`, type: 'text' }));
}

function selects(count: number, maxSelect: number): readonly object[] {
  const values = ['a', 'b', 'c'];
  return Array.from({ length: count }, (_, at) => ({
    id: `select${at}`,
    name: `s${at}`,
    type: 'select',
    values,
    maxSelect,
  }));
}

function withCategory(change: object): readonly object[] {
  return sampleCollection('bench').fields.map((field) =>
    field.name === 'category' ? { ...field, ...change } : field,
  );
}

function patch({ ask }: Attacker, body: object): Promise<string> {
  return ask(bench, { method: 'PATCH', body: JSON.stringify(body) });
}

function patchOf({ api }: Target, body: object): Promise<unknown> {
  return api(bench, body, 'PATCH');
}
