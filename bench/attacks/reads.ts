import type { Attacks } from '../support/attack.ts';

const records = '/api/collections/bench/records';
const longText = 'word '.repeat(800_000);

function filter(text: string): string {
  return `filter=${encodeURIComponent(text)}`;
}

/** Lists, views, logs and files. */
export const readAttacks: Attacks = {
  'excerpts of 60 records of 4 MB, 4 clients': {
    clients: 4,
    prepare: async ({ api }) => {
      await api('/api/collections', {
        name: 'long',
        fields: [{ name: 'text', type: 'editor', maxSize: 5_000_000 }],
      });
      for (let n = 0; n < 60; n += 1) await api('/api/collections/long/records', { text: longText });
    },
    run: ({ ask }) => ask('/api/collections/long/records?perPage=60&fields=id,text:excerpt(200)'),
  },
  'lists of 40 records of 2 MB, 4 clients': {
    clients: 4,
    prepare: async ({ api }) => {
      await api('/api/collections', {
        name: 'long',
        fields: [{ name: 'text', type: 'editor', maxSize: 5_000_000 }],
      });
      for (let n = 0; n < 40; n += 1)
        await api('/api/collections/long/records', { text: longText.slice(0, 2_000_000) });
    },
    run: ({ ask }) => ask('/api/collections/long/records?perPage=40'),
  },
  'lists of 1,000 records, 16 clients': {
    clients: 16,
    run: ({ ask, next }) => ask(`${records}?perPage=1000&page=${next() % 90}`),
  },
  'counts of all, 16 clients': {
    clients: 16,
    run: ({ ask, next }) => ask(`${records}?perPage=1&${filter(`views != ${next()}`)}`),
  },
  'sorts without an index, 16 clients': {
    clients: 16,
    run: ({ ask, next }) => ask(`${records}?sort=body,title&skipTotal=1&${filter(`views != ${next()}`)}`),
  },
  'searches for a pattern, 50 clients': {
    clients: 50,
    run: ({ ask, next }) =>
      ask(`${records}?${filter(`title ~ 'none ${next()}' || body ~ '%a%b%${next()}'`)}`),
  },
  'filters with joins, 16 clients': {
    clients: 16,
    run: ({ ask, next }) =>
      ask(
        `${records}?${filter(`@collection.bench.title ?> @collection.bench:o.body && views != ${next()}`)}`,
      ),
  },
  'filters of 3,500 characters, 32 clients': {
    clients: 32,
    run: ({ ask, next }) =>
      ask(
        `${records}?${filter(Array.from({ length: 180 }, (_, at) => `views != ${at}`).join(' && '))}&page=${next() % 50}`,
      ),
  },
  'random sorts, 8 clients': { clients: 8, run: ({ ask }) => ask(`${records}?sort=@random&perPage=500`) },
  'filter checks, 16 clients': {
    clients: 16,
    run: ({ ask, next }) =>
      ask('/api/collections/bench/filters/check', {
        body: JSON.stringify({ filter: `title ~ 'x${next()}'` }),
      }),
  },
  'rule tests with joins, 8 clients': {
    clients: 8,
    run: ({ ask }) =>
      ask('/api/collections/bench/rules/test', {
        body: JSON.stringify({
          rule: '@collection.bench.title ?> @collection.bench:o.body',
          record: { title: 'x' },
        }),
      }),
  },
  'log of requests, 16 clients': {
    clients: 16,
    run: ({ ask }) => ask('/api/logs?perPage=500&sort=-created'),
  },
  'statistics of the log, 16 clients': { clients: 16, run: ({ ask }) => ask('/api/logs/stats') },
  'audit log, 16 clients': { clients: 16, run: ({ ask }) => ask('/api/audit?perPage=500') },
  'OpenAPI documents, 8 clients': { clients: 8, run: ({ ask }) => ask('/api/openapi.json') },
};
