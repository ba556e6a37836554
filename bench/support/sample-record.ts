import type { Columns } from './fill-table.ts';

/** The record that every benchmark writes: about 700 bytes of JSON with the usual mixture of fields. */
const sampleFields = [
  { name: 'title', type: 'text', required: true, max: 200 },
  { name: 'body', type: 'text' },
  { name: 'views', type: 'number', onlyInt: true, min: 0 },
  { name: 'published', type: 'bool' },
  { name: 'author', type: 'email' },
  { name: 'published_at', type: 'date' },
  { name: 'category', type: 'select', values: ['news', 'sport', 'culture'], maxSelect: 1 },
  { name: 'meta', type: 'json' },
] as const;

const sampleText = 'The quick brown fox jumps over the lazy dog while the clock strikes. '.repeat(5);

/** A collection of these that anybody may use. 100 authors: a filter by one of them finds a hundredth of the records. */
export function sampleCollection(name: string) {
  const rules = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
  const indexes = [`CREATE INDEX idx_${name}_author ON ${name} (author, created)`];
  return { name, ...rules, fields: sampleFields, indexes };
}

/** The record number `n`. */
export function sampleRecord(n: number): Readonly<Record<string, unknown>> {
  return {
    title: `Record number ${n} of a benchmark`,
    body: sampleText,
    views: n % 10_000,
    published: n % 2 === 0,
    author: `writer${n % 100}@example.com`,
    published_at: '2026-01-02 03:04:05.678Z',
    category: ['news', 'sport', 'culture'][n % 3],
    meta: { tags: ['one', 'two'], score: n % 100, nested: { deep: true } },
  };
}

/** The same records as SQL over their number `n`, for `fillTable`. */
export const sampleColumns: Columns = {
  title: `'Record number ' || n || ' of a benchmark'`,
  body: `'${sampleText}'`,
  views: 'n % 10000',
  published: '1 - n % 2',
  author: `'writer' || (n % 100) || '@example.com'`,
  published_at: `'2026-01-02 03:04:05.678Z'`,
  category: `CASE n % 3 WHEN 0 THEN 'news' WHEN 1 THEN 'sport' ELSE 'culture' END`,
  meta: `'{"tags":["one","two"],"score":' || (n % 100) || ',"nested":{"deep":true}}'`,
};
