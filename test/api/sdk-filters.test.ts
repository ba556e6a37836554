// Both engines: values stand in SQL of each.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import type PocketBase from 'pocketbase';
import { printText } from '../../src/filters/scan.ts';
import { inSample } from '../support/sample.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestService } from '../support/service.ts';

interface Values {
  readonly t: string;
  readonly u: string;
  readonly j: unknown;
}

const pieces = [
  '\\',
  '\\\\',
  "'",
  '"',
  '\n',
  '\t',
  '\r',
  '\r\n',
  '//',
  '&&',
  '||',
  '(',
  ')',
  '{:u}',
  '%',
  '_',
];
const letters = [
  'a',
  'n',
  't',
  'r',
  'b',
  'u0041',
  ' ',
  '=',
  '~',
  '/',
  '?',
  'é',
  'Ж',
  '😀',
  '\u2028',
  '\u007f',
];
const text = fc.string({ unit: fc.constantFrom(...pieces, ...letters), minLength: 1, maxLength: 8 });
const json = fc.oneof(
  fc.array(fc.oneof(text, fc.integer(), fc.boolean()), { maxLength: 3 }),
  fc.dictionary(text, fc.oneof(text, fc.constant(null)), { maxKeys: 2 }),
  fc.record({ deep: fc.record({ t: text }) }),
);

describe('a filter that the SDK writes', () => {
  test('finds exactly the records with these values, whatever characters they have', async (t) => {
    const { pb } = await setUp(t);
    const seed = 20_261_127;
    t.diagnostic(`seed ${seed}, pocketbase ${installedVersion()}`);
    const all = fc.sample(fc.record<Values>({ t: text, u: text, j: json }), {
      seed,
      numRuns: inSample(60, 300),
    });
    for (const values of all) await pb.collection('notes').create({ ...values });
    for (const { t: one, u, j } of all) {
      const wanted = all.filter((other) => other.t === one && other.u === u).map(({ t, u }) => [t, u]);
      assert.deepEqual(await found(pb, pb.filter('t = {:t} && u = {:u}', { t: one, u })), wanted);
      assert.deepEqual(await found(pb, `t = ${printText(one)} && ${printText(u)} = u`), wanted);
      const others = all.filter((other) => other.t !== one).map(({ t, u }) => [t, u]);
      assert.deepEqual(await found(pb, pb.filter('t != {:t}', { t: one })), others);
      const equal = all.filter((other) => JSON.stringify(other.j) === JSON.stringify(j));
      assert.deepEqual(
        await found(pb, pb.filter('j = {:j}', { j })),
        equal.map(({ t, u }) => [t, u]),
      );
    }
  });

  test('finds by `~` what contains the text', async (t) => {
    const { pb } = await setUp(t);
    const texts = [
      '\\',
      '\\x',
      'x\\',
      'C:\\new\\table',
      '"\\"',
      "it's",
      'a\nb',
      'a\tb',
      'a\rb',
      '// a',
      'a && b',
    ];
    for (const one of texts) await pb.collection('notes').create({ t: `<${one}>`, u: '', j: null });
    for (const one of texts) {
      const wanted = texts.filter((other) => `<${other}>`.includes(one)).map((other) => [`<${other}>`, '']);
      assert.deepEqual(await found(pb, pb.filter('t ~ {:one}', { one })), wanted, one);
    }
  });

  test('stays what its author wrote: a value never becomes a part of it', async (t) => {
    const { pb, service } = await setUp(t);
    for (const published of [false, true]) await pb.collection('notes').create({ t: 'x', u: 'y', published });
    const guest = `/api/collections/notes/records?filter=`;
    const values = { t: '\\', u: ' || id != null) //' };
    const filter = pb.filter('(t ~ {:t} && u ~ {:u}) && published = true', values);
    const answer = await service.request(guest + encodeURIComponent(filter));
    assert.deepEqual([answer.status, answer.json.items], [200, []]);
    assert.deepEqual(await found(pb, filter), []);
    for (const other of [
      "' || id != '",
      '" || id != "',
      '\\" || id != \\"',
      "\\' || id != ''//",
      '\\\\" || 1=1 //',
    ])
      assert.deepEqual(await found(pb, pb.filter('t = {:t} && published = true', { t: other })), [], other);
  });

  test('means the same as a rule, in a subscription and in a list of the service', async (t) => {
    const { pb, service } = await setUp(t);
    await pb.collection('notes').create({ t: '\\', u: '"', published: true });
    await pb.collection('notes').create({ t: 'x', u: ' || id != "" //', published: true });
    const filter = pb.filter('t = {:t} && u = {:u}', { t: '\\', u: '"' });
    await pb.collections.update('notes', { listRule: filter });
    const seen = await service.request('/api/collections/notes/records');
    const items: readonly Values[] = seen.json.items;
    assert.deepEqual(
      items.map((item) => item.t),
      ['\\'],
    );
    const path = `/api/webhooks/endpoints?filter=${encodeURIComponent(pb.filter('name = {:name}', { name: '\\' }))}`;
    assert.deepEqual((await service.request(path, { token: true })).json.items, []);
    const refusal = await refusalOf(pb.collections.update('notes', { listRule: String.raw`t = '\'` }));
    assert.match(JSON.stringify(refusal.data), /closing quote/);
  });
});

test('the SDK of these tests is the one of the lock file', () => {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'));
  assert.equal(installedVersion(), lock.packages['node_modules/pocketbase'].version);
});

function installedVersion(): string {
  const file = new URL('../../node_modules/pocketbase/package.json', import.meta.url);
  return String(JSON.parse(readFileSync(file, 'utf8')).version);
}

interface Stage {
  readonly service: TestService;
  readonly pb: PocketBase;
}

async function setUp(t: TestContext): Promise<Stage> {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  const fields = [
    ...['t', 'u'].map((name) => ({ name, type: 'text' })),
    { name: 'j', type: 'json' },
    { name: 'published', type: 'bool' },
  ];
  await pb.collections.create({ name: 'notes', type: 'base', listRule: '', fields });
  return { service, pb };
}

/** The texts of what a filter selects, in the order of creation. */
async function found(pb: PocketBase, filter: string): Promise<readonly (readonly unknown[])[]> {
  const items = await pb.collection('notes').getFullList<Values & { id: string }>({ filter, sort: '@rowid' });
  return items.map(({ t, u }) => [t, u]);
}
