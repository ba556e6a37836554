// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { Accounts, codes, type Account } from '../support/accounts.ts';
import { eventsOf } from '../support/events-of.ts';
import type { TestAnswer } from '../support/service.ts';

const path = '/api/collections/notes/rules/test';
const records = '/api/collections/notes/records';

describe('the rule tester', () => {
  test('says what the operation does, whoever asks, and which comparison keeps it from more', async (t) => {
    const { accounts, ann, bob, notes } = await setUp(t);
    const callers = [
      { caller: 'guest', token: undefined },
      { caller: { collection: 'users', id: ann.id }, token: ann.token },
      { caller: { collection: '_pb_users_auth_', id: bob.id }, token: bob.token },
      { caller: 'superuser', token: true },
    ] as const;
    for (const { caller, token } of callers) {
      for (const id of notes) {
        const viewed = await accounts.ask('GET', `${records}/${id}`, { token });
        assert.equal(
          (await ask(accounts, { rule: 'viewRule', caller, record: id })).allowed,
          viewed.status === 200,
        );
        const body = { title: 'New' };
        const asked = { rule: 'updateRule', caller, record: id, request: { body } };
        const { allowed } = await ask(accounts, asked);
        const updated = await accounts.ask('PATCH', `${records}/${id}`, { token, body });
        assert.equal(allowed, updated.status === 200, updated.text);
      }
      const record = { title: 'x', owner: ann.id };
      const { allowed } = await ask(accounts, { rule: 'createRule', caller, record });
      const made = await accounts.ask('POST', records, { token, body: record });
      assert.equal(allowed, made.status === 201, made.text);
    }
  });

  test('shows each comparison with its text, its place and what it says', async (t) => {
    const { accounts, ann, notes } = await setUp(t);
    const rule = "owner.name = 'ann' && (title ~ 'nothing' || @collection.users.id ?= owner) && done = true";
    const caller = { collection: 'users', id: ann.id };
    const verdict = await ask(accounts, { rule, caller, record: notes[0] });
    assert.deepEqual(verdict, {
      allowed: false,
      terms: [
        { text: "owner.name = 'ann'", position: 0, result: true, sides: [] },
        {
          text: "title ~ 'nothing'",
          position: 23,
          result: false,
          sides: [
            { text: 'title', values: ['Ann'] },
            { text: "'nothing'", values: ['nothing'] },
          ],
        },
        { text: '@collection.users.id ?= owner', position: 44, result: true, sides: [] },
        {
          text: 'done = true',
          position: 78,
          result: false,
          sides: [
            { text: 'done', values: [false] },
            { text: 'true', values: [true] },
          ],
        },
      ],
    });
    const other = await ask(accounts, { rule: "title = 'Ann' && done = false", record: notes[0] });
    assert.deepEqual([other.allowed, other.terms.map(({ result }) => result)], [true, [true, true]]);
  });

  test('knows what is said of the request', async (t) => {
    const { accounts, notes } = await setUp(t);
    const rule =
      "@request.method = 'PUT' && @request.context = 'batch' && @request.query.a = 'b' && @request.headers.x_key = 'c'";
    const request = { method: 'PUT', context: 'batch', query: { a: 'b' }, headers: { 'X-Key': 'c' } };
    assert.equal((await ask(accounts, { rule, record: notes[0], request })).allowed, true);
    const methods = { viewRule: 'GET', createRule: 'POST', updateRule: 'PATCH', deleteRule: 'DELETE' };
    for (const [name, method] of Object.entries(methods)) {
      await accounts.ask('PATCH', '/api/collections/notes', {
        body: { [name]: `@request.method = '${method}'` },
        token: true,
      });
      assert.equal((await ask(accounts, { rule: name, record: notes[0] })).allowed, true, name);
    }
    const query = { rule: '@request.query.a:isset = true', record: notes[0] };
    assert.equal((await ask(accounts, query)).allowed, false);
  });

  test('asks of a record that could be made what a create asks, generated values and modifiers included', async (t) => {
    const { accounts, ann } = await setUp(t);
    const rule =
      "id != '' && created != '' && title = 'x' && @request.body.title = 'x' && count = 3 && owner = ''";
    const record = { title: 'x', 'count+': 3, nothing: 1 };
    assert.equal((await ask(accounts, { rule, record })).allowed, true);
    // `verified` is not for oneself to say.
    const account = { rule: 'verified = true', record: { verified: true } };
    const answer = await accounts.ask('POST', '/api/collections/users/rules/test', {
      token: true,
      body: account,
    });
    assert.equal(answer.json.allowed, false);
    const stored = { rule: "name = 'ann'", record: ann.id };
    const known = await accounts.ask('POST', '/api/collections/users/rules/test', {
      token: true,
      body: stored,
    });
    assert.equal(known.json.allowed, true);
  });

  test('knows the rules of accounts, and that nobody is nobody to manage them', async (t) => {
    const { accounts, ann, bob } = await setUp(t);
    await accounts.define({ manageRule: "@request.auth.name != 'ann'", authRule: 'verified = true' });
    const test = async (rule: string, caller: unknown): Promise<boolean> => {
      const body = { rule, caller, record: ann.id };
      return (await accounts.ask('POST', '/api/collections/users/rules/test', { token: true, body })).json
        .allowed;
    };
    assert.equal(await test('manageRule', 'guest'), false);
    assert.equal(await test('manageRule', { collection: 'users', id: bob.id }), true);
    assert.equal(await test('manageRule', { collection: 'users', id: ann.id }), false);
    assert.equal(await test('authRule', 'guest'), false);
    await accounts.define({ manageRule: null, authRule: '' });
    assert.equal(await test('manageRule', { collection: 'users', id: bob.id }), false);
    assert.equal(await test('authRule', 'guest'), true);
  });

  test('asks nothing of superusers, and nothing where nobody or everybody may', async (t) => {
    const { accounts, notes } = await setUp(t);
    const [record] = notes;
    const superusers = await accounts.ask('GET', '/api/collections/_superusers/records', { token: true });
    const root = { collection: '_superusers', id: superusers.json.items[0].id };
    for (const [asked, allowed] of [
      [{ rule: 'title = ""', caller: 'superuser', record }, true],
      [{ rule: 'title = ""', caller: root, record }, true],
      [{ rule: null, record }, false],
      [{ rule: null, caller: 'superuser', record }, true],
      [{ rule: 'deleteRule', record }, false],
      [{ rule: '', record }, true],
    ] as const)
      assert.deepEqual(await ask(accounts, asked), { allowed, terms: [] });
  });

  test('shows what a false comparison compared, of the request, its caller and related records', async (t) => {
    const { accounts, ann, bob, notes } = await setUp(t);
    const valuesOf = async (rule: string): Promise<unknown> => {
      const caller = { collection: 'users', id: ann.id };
      const request = { query: { a: 'b' }, body: { title: 'New', count: 3 } };
      const { terms } = await ask(accounts, { rule, caller, record: notes[1], request });
      return terms[0]?.sides.map(({ values }) => values);
    };
    assert.deepEqual(await valuesOf('owner = @request.auth.id'), [[bob.id], [ann.id]]);
    assert.deepEqual(await valuesOf('owner.name = @request.auth.name'), [['bob'], ['ann']]);
    assert.deepEqual(await valuesOf("@request.query.a = 'c'"), [['b'], ['c']]);
    assert.deepEqual(await valuesOf('@request.body.count > 5'), [[3], [5]]);
    assert.deepEqual(await valuesOf("title = 'Bob'"), []);
  });

  test('changes nothing and tells nobody', async (t) => {
    const { accounts, notes } = await setUp(t);
    const before = await accounts.ask('GET', records, { token: true });
    const told = await eventsOf(accounts.service, notes[0] ?? '');
    await ask(accounts, { rule: 'createRule', record: { title: 'x' } });
    await ask(accounts, { rule: 'updateRule', record: notes[0], request: { body: { title: 'y' } } });
    await ask(accounts, { rule: 'deleteRule', record: notes[0] });
    assert.equal((await accounts.ask('GET', records, { token: true })).text, before.text);
    assert.deepEqual(await eventsOf(accounts.service, notes[0] ?? ''), told);
  });

  test('refuses what is no question, by its place', async (t) => {
    const { accounts, notes } = await setUp(t);
    const [record] = notes;
    for (const [body, place, code] of [
      [{}, 'rule', 'validation_required'],
      [{ rule: 1 }, 'rule', 'validation_invalid_rule'],
      [{ rule: 'title =' }, 'rule', 'validation_invalid_rule'],
      [{ rule: 'nothing = 1' }, 'rule', 'validation_invalid_rule'],
      [{ rule: 'authRule' }, 'rule', 'validation_invalid_value'],
      [{ rule: '', caller: 'nobody' }, 'caller', 'validation_invalid_value'],
      [{ rule: '', caller: null }, 'caller', 'validation_invalid_value'],
      [{ rule: '', caller: { collection: 'users' } }, 'caller', 'validation_invalid_value'],
      [{ rule: '', caller: { collection: 'users', id: 'x' } }, 'caller', 'validation_invalid_value'],
      [{ rule: '', caller: { collection: 'notes', id: record } }, 'caller', 'validation_invalid_value'],
      [{ rule: '', record: 'x' }, 'record', 'validation_invalid_value'],
      [{ rule: '', record: [] }, 'record', 'validation_invalid_value'],
    ] as const)
      assert.deepEqual(codes(await refusal(accounts, body)), { [place]: code }, JSON.stringify(body));
    for (const [request, place] of [
      [1, undefined],
      [{ context: 'x' }, 'context'],
      [{ method: 1 }, 'method'],
      [{ query: { a: 1 } }, 'query'],
      [{ headers: [] }, 'headers'],
      [{ body: 'x' }, 'body'],
    ] as const) {
      const { json } = await refusal(accounts, { rule: '', record, request });
      assert.equal(
        place === undefined ? 'request' in json.data : place in json.data.request,
        true,
        JSON.stringify(json),
      );
    }
    const both = await refusal(accounts, { rule: '', record: {}, request: { body: { a: 1 } } });
    assert.equal(both.json.data.request.body.code, 'validation_invalid_value');
    assert.equal(
      (await accounts.ask('POST', '/api/collections/nothing/rules/test', { token: true, body: {} })).status,
      404,
    );
  });

  test('is for superusers only', async (t) => {
    const { accounts, ann } = await setUp(t);
    const body = { rule: '' };
    assert.equal((await accounts.ask('POST', path, { body })).status, 401);
    assert.equal((await accounts.ask('POST', path, { body, token: ann.token })).status, 403);
  });
});

interface Verdict {
  readonly allowed: boolean;
  readonly terms: readonly {
    readonly text: string;
    readonly position: number;
    readonly result: boolean;
    readonly sides: readonly { readonly text: string; readonly values: readonly unknown[] }[];
  }[];
}

async function ask(accounts: Accounts, body: object): Promise<Verdict> {
  const answer = await accounts.ask('POST', path, { token: true, body });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function refusal(accounts: Accounts, body: object): Promise<TestAnswer> {
  const answer = await accounts.ask('POST', path, { token: true, body });
  assert.equal(answer.status, 400, answer.text);
  return answer;
}

interface Stage {
  readonly accounts: Accounts;
  readonly ann: Account;
  readonly bob: Account;
  /** Ids of notes: Ann's, Bob's, a public one of nobody. */
  readonly notes: readonly string[];
}

async function setUp(t: TestContext): Promise<Stage> {
  const accounts = await Accounts.start(t);
  const definition = {
    name: 'notes',
    fields: [
      { name: 'title', type: 'text' },
      { name: 'owner', type: 'relation', collectionId: '_pb_users_auth_' },
      { name: 'done', type: 'bool' },
      { name: 'count', type: 'number' },
    ],
    viewRule: "owner = @request.auth.id || owner = ''",
    createRule: "@request.auth.id != '' && owner = @request.auth.id && @request.body.title != ''",
    updateRule: "owner.name = @request.auth.name && @request.body.title:changed = true && title != 'New'",
  };
  const defined = await accounts.ask('POST', '/api/collections', { token: true, body: definition });
  assert.equal(defined.status, 200, defined.text);
  const [ann, bob] = [await accounts.account('ann'), await accounts.account('bob')];
  const notes: string[] = [];
  for (const [title, owner] of [
    ['Ann', ann.id],
    ['Bob', bob.id],
    ['All', ''],
  ]) {
    const made = await accounts.ask('POST', records, { token: true, body: { title, owner } });
    notes.push(made.json.id);
  }
  return { accounts, ann, bob, notes };
}
