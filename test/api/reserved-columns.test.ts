// Both engines: each reserves other names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../support/service.ts';

/** What PostgreSQL calls columns of its own, which every table has. */
const reserved = ['xmin', 'xmax', 'cmin', 'cmax', 'ctid', 'tableoid'];
const path = '/api/collections/odd';

test('a field may have a name that an engine uses itself, whatever is done with it', async (t) => {
  const service = await startService(t);
  const ask = (method: string, place: string, body?: object): ReturnType<typeof service.request> =>
    service.request(path + place, { method, token: true, ...(body && { body }) });
  const made = await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: {
      name: 'odd',
      fields: reserved.map((name, at) => ({ name, type: at % 2 === 0 ? 'text' : 'number' })),
      indexes: [
        'CREATE UNIQUE INDEX ctid ON odd (xmin)',
        "CREATE UNIQUE INDEX xmin ON odd (cmin, tableoid) WHERE cmin != ''",
      ],
    },
  });
  assert.equal(made.status, 200, made.text);
  for (const at of [1, 2, 3]) {
    const values = { xmin: `a${at}`, xmax: at, cmin: `b${at}`, cmax: 0, ctid: 'c', tableoid: at };
    const { status, json, text } = await ask('POST', '/records', values);
    assert.equal(status, 201, text);
    for (const [name, value] of Object.entries(values)) assert.equal(json[name], value, name);
  }
  const list = await ask('GET', '/records?filter=xmin!%3D%22a2%22%26%26tableoid%3E0&sort=-xmin,ctid');
  const [last, first] = list.json.items;
  assert.deepEqual([list.json.totalItems, last.xmin, first.xmin], [2, 'a3', 'a1'], list.text);
  const taken = await ask('POST', '/records', { xmin: 'a1' });
  assert.deepEqual(Object.keys(taken.json.data), ['xmin'], taken.text);
  const takenTogether = await ask('POST', '/records', { xmin: 'new', cmin: 'b1', tableoid: 1 });
  assert.deepEqual(Object.keys(takenTogether.json.data), ['cmin', 'tableoid'], takenTogether.text);
  const updated = await ask('PATCH', `/records/${first.id}`, { 'xmax+': 5, ctid: 'd' });
  assert.deepEqual([updated.json.xmax, updated.json.ctid], [6, 'd'], updated.text);
  const fields: readonly { readonly name: string }[] = made.json.fields;
  const swapped = new Map([
    ['xmin', 'cmin'],
    ['cmin', 'plain'],
    ['ctid', 'xmin'],
  ]);
  const renamed = await ask('PATCH', '', {
    name: 'cmax',
    fields: fields.map((field) => ({ ...field, name: swapped.get(field.name) ?? field.name })),
    indexes: ['CREATE UNIQUE INDEX ctid ON cmax (plain)'],
  });
  assert.equal(renamed.status, 200, renamed.text);
  const { json: shown } = await service.request(`/api/collections/cmax/records/${first.id}`, { token: true });
  assert.deepEqual([shown.cmin, shown.plain, shown.xmin], ['a1', 'b1', 'd']);
  assert.equal(
    (await service.request('/api/collections/cmax', { method: 'DELETE', token: true })).status,
    204,
  );
});
