// Both engines: statements are prepared with types.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notInSample } from '../support/sample.ts';
import { startService, type TestAnswer } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';

const path = '/api/collections/things';

/** Values that are another one where they are taken for a number or a truth value on their way. */
const values = {
  number: [7, 10, 1, 2.5],
  text: ['007', '1e1', '01', 'seven'],
  bool: [true, false, true, true],
  json: ['007', { a: 1 }, '01', '2.50'],
} as const;

test('a field that takes the name of one of another type stores what it is sent', async (t) => {
  const service = await startService(t);
  const ask = (method: string, at: string, body?: unknown): Promise<TestAnswer> =>
    service.request(at, { method, token: true, body });
  const made = await ask('POST', '/api/collections', { name: 'things' });
  assert.equal(made.status, 200, made.text);
  const types = [
    'number',
    'text',
    'number',
    'bool',
    'text',
    'bool',
    'number',
    'json',
    'number',
    'text',
  ] as const;
  for (const [place, type] of types.entries()) {
    const fields = [{ id: `field${place}`, name: 'value', type }];
    for (const change of [{ fields: [] }, { fields }]) {
      const changed = await ask('PATCH', path, change);
      assert.equal(changed.status, 200, changed.text);
    }
    // Sent often enough, one after the other and at once, for every session to have prepared what stores them.
    for (const value of values[type]) await assertStored(value);
    await Promise.all(values[type].flatMap((value) => [assertStored(value), assertStored(value)]));
  }

  async function assertStored(value: unknown): Promise<void> {
    const { json, status, text } = await ask('POST', `${path}/records`, { value });
    assert.equal(status, 201, text);
    assert.deepEqual((await ask('GET', `${path}/records/${json.id}`)).json.value, json.value);
    assert.equal((await ask('PATCH', `${path}/records/${json.id}`, { value: null })).status, 200);
    const again = await ask('PATCH', `${path}/records/${json.id}`, { value });
    assert.equal(again.status, 200, again.text);
    assert.deepEqual((await ask('GET', `${path}/records/${json.id}`)).json.value, json.value);
  }
});

test(
  'a table that has had too many fields on PostgreSQL says so, and is as it was',
  notInSample,
  async (t) => {
    const service = await startService(t);
    const ask = (method: string, at: string, body?: unknown): Promise<TestAnswer> =>
      service.request(at, { method, token: true, body });
    const fieldsOf = (round: number): readonly object[] =>
      Array.from({ length: 450 }, (_, n) => ({ id: `f${round}_${n}`, name: `f${n}`, type: 'bool' }));
    await ask('POST', '/api/collections', { name: 'things', fields: fieldsOf(0) });
    const replace = async (round: number): Promise<TestAnswer> => {
      await ask('PATCH', path, { fields: [] });
      return ask('PATCH', path, { fields: fieldsOf(round) });
    };
    // PostgreSQL has room for 1,600 columns, deleted ones among them. SQLite keeps nothing of those.
    for (const round of testEngine === 'postgres' ? [1, 2] : [])
      assert.equal((await replace(round)).status, 200);
    const last = await replace(3);
    assert.equal(last.status, testEngine === 'postgres' ? 400 : 200);
    if (testEngine === 'postgres')
      assert.match(last.json.message, /The table has had too many fields, deleted ones among them/);
    const record = await ask('POST', `${path}/records`, { f0: true });
    assert.equal(record.json.f0, true, record.text);
  },
);
