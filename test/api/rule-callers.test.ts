// Both engines: rules are conditions of statements.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Accounts } from '../support/accounts.ts';

type CallerName = 'guest' | 'ann' | 'bob' | 'sam' | 'root';
type Word = 'open' | 'shut' | '';

/** A rule for everything, and who may pass it with which word in the request. The records are of ann. */
const rules: readonly (readonly [rule: string, mayPass: (name: CallerName, word: Word) => boolean])[] = [
  ['@request.auth.id != ""', (name) => name !== 'guest'],
  ['@request.auth.collectionName = "staff"', (name) => name === 'sam'],
  ['owner = @request.auth.id', (name) => name === 'ann'],
  ['@request.auth.name = "bob"', (name) => name === 'bob'],
  ['@request.query.word = "open"', (_, word) => word === 'open'],
  ['@request.query.word:isset = false', (_, word) => word === ''],
  [
    '@request.headers.x_word ~ "pe" || owner = @request.auth.id',
    (name, word) => name === 'ann' || word === 'open',
  ],
  [
    'owner = @request.auth.id && @request.query.word = "open"',
    (name, word) => name === 'ann' && word === 'open',
  ],
];

test('a rule decides for each of many callers who ask at the same time', async (t) => {
  const stage = await Accounts.start(t);
  const root = (method: string, path: string, body?: object) =>
    stage.ask(method, `/api/collections${path}`, { token: true, ...(body && { body }) });
  await root('POST', '', { name: 'staff', type: 'auth', fields: [{ name: 'name', type: 'text' }] });
  const fields = [{ name: 'owner', type: 'text' }];
  const { id: things } = (await root('POST', '', { name: 'things', fields })).json;
  const toThing = { name: 'thing', type: 'relation', collectionId: things };
  await root('POST', '', { name: 'links', viewRule: '', fields: [toThing] });
  const ann = await stage.account('ann');
  const bob = await stage.account('bob');
  const secret = 'correct horse';
  await root('POST', '/staff/records', {
    email: 'sam@example.com',
    password: secret,
    passwordConfirm: secret,
    name: 'sam',
  });
  const sam = (await stage.signIn('sam@example.com', secret, 'staff')).json.token;
  const tokens: readonly (readonly [CallerName, string | true | undefined])[] = [
    ['guest', undefined],
    ['ann', ann.token],
    ['bob', bob.token],
    ['sam', sam],
    ['root', true],
  ];

  for (const [rule, mayPass] of rules) {
    const all = { listRule: rule, viewRule: rule, createRule: rule, updateRule: rule, deleteRule: rule };
    assert.equal((await root('PATCH', '/things', all)).status, 200, rule);
    const made = (await root('POST', '/things/records', { owner: ann.id })).json.id;
    const link = (await root('POST', '/links/records', { thing: made })).json.id;
    const asking = tokens.flatMap(([name, token]) =>
      (['open', 'shut', ''] as const).map(async (word) => {
        const { id: doomed } = (await root('POST', '/things/records', { owner: ann.id })).json;
        const words = word === '' ? {} : { word };
        const ask = (
          method: string,
          path: string,
          { query = {}, body }: { readonly query?: Record<string, string>; readonly body?: object } = {},
        ) =>
          stage.service.request(
            `/api/collections${path}?${String(new URLSearchParams({ ...query, ...words }))}`,
            {
              method,
              ...(body && { body }),
              ...(token !== undefined && { token }),
              ...(word !== '' && { headers: { 'X-Word': word } }),
            },
          );
        const may = name === 'root' || mayPass(name, word);
        const about = `${rule}: ${name} with "${word}"`;
        const listed = await ask('GET', '/things/records', { query: { filter: 'owner != ""' } });
        assert.equal(listed.json.totalItems > 0, may, `list, ${about}`);
        const viewed = await ask('GET', `/things/records/${made}`);
        assert.equal(viewed.status, may ? 200 : 404, `view, ${about}`);
        const withFields = await ask('GET', `/things/records/${made}`, { query: { expand: 'none' } });
        assert.equal(withFields.status, may ? 200 : 404, `view with expand, ${about}`);
        const expanded = await ask('GET', `/links/records/${link}`, { query: { expand: 'thing' } });
        assert.equal(expanded.json.expand.thing !== undefined, may, `expand, ${about}`);
        const created = await ask('POST', '/things/records', { body: { owner: ann.id } });
        assert.equal(created.status, may ? 201 : 400, `create, ${about}`);
        const updated = await ask('PATCH', `/things/records/${made}`, { body: { owner: ann.id } });
        assert.equal(updated.status, may ? 200 : 404, `update, ${about}`);
        const deleted = await ask('DELETE', `/things/records/${doomed}`);
        assert.equal(deleted.status, may ? 204 : 404, `delete, ${about}`);
      }),
    );
    await Promise.all(asking);
  }
});
