// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Accounts, codes } from '../support/accounts.ts';
import type { TestAnswer } from '../support/service.ts';

const definition = {
  name: 'posts',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'author', type: 'relation', collectionId: '_pb_users_auth_' },
  ],
};

const dryRun = async (accounts: Accounts, body: object): Promise<TestAnswer> =>
  accounts.ask('POST', '/api/collections/meta/dry-run-rule', { token: true, body: { definition, ...body } });

const unknown = { isValid: false, message: 'Unknown field "nothing" at position 15.', position: 15 };
const valid = { isValid: true, message: '', position: null };
const untested = { allowed: null, terms: [] };

describe('a rule of a collection that is not saved', () => {
  test('is checked with the fields of its definition', async (t) => {
    const accounts = await Accounts.start(t);
    const check = async (rule: string | null): Promise<unknown> => (await dryRun(accounts, { rule })).json;
    assert.deepEqual(await check("title != '' && nothing = 1"), { ...unknown, ...untested });
    assert.deepEqual(await check('author = @request.auth.id && author.name != title'), {
      ...valid,
      ...untested,
    });
    assert.deepEqual(await check('@collection.posts.title ?= title'), { ...valid, ...untested });
    assert.deepEqual(await check(null), { ...valid, ...untested });
    const all = await accounts.ask('GET', '/api/collections', { token: true });
    assert.ok(!all.text.includes('"posts"'));
  });

  test('is tested on a new record, with what its comparisons compared', async (t) => {
    const accounts = await Accounts.start(t);
    const ann = await accounts.account('ann');
    const caller = { collection: 'users', id: ann.id };
    const rule = 'author = @request.auth.id';
    const own = await dryRun(accounts, { rule, caller, record: { author: ann.id } });
    assert.deepEqual([own.json.isValid, own.json.allowed], [true, true], own.text);
    const none = await dryRun(accounts, { rule, caller, record: {} });
    assert.equal(none.json.allowed, false);
    assert.deepEqual(none.json.terms, [
      {
        text: rule,
        position: 0,
        result: false,
        sides: [
          { text: 'author', values: [''] },
          { text: '@request.auth.id', values: [ann.id] },
        ],
      },
    ]);
  });

  test('has no result where it reads the records of the collection, which are not there', async (t) => {
    const accounts = await Accounts.start(t);
    for (const rule of ["@collection.posts.title ?= 'a'", "parent.title = 'a'"]) {
      const parent = { name: 'parent', type: 'relation', collectionId: 'posts0000000000' };
      const itself = { ...definition, id: 'posts0000000000', fields: [...definition.fields, parent] };
      const { status, json } = await dryRun(accounts, { definition: itself, rule, record: {} });
      assert.deepEqual([status, json.isValid, json.allowed], [200, true, null]);
      assert.match(json.message, /^The rule reads records of the collection itself/);
    }
  });

  test('of a stored collection knows the fields that it is to have', async (t) => {
    const accounts = await Accounts.start(t);
    const made = await accounts.ask('POST', '/api/collections', { token: true, body: definition });
    const fields = [...made.json.fields, { name: 'state', type: 'text' }];
    const changed = { definition: { ...made.json, fields }, rule: "state = 'open' && title = 'a'" };
    const { json } = await dryRun(accounts, { ...changed, record: { state: 'open' } });
    assert.deepEqual([json.isValid, json.allowed, json.terms.length], [true, false, 2]);
  });

  test('is checked with its own fields where another collection has the name', async (t) => {
    const accounts = await Accounts.start(t);
    const indexes = ['CREATE INDEX `idx_posts_title` ON `posts` (`title`)'];
    const taken = { name: 'Posts', fields: [{ name: 'title', type: 'text' }], indexes };
    const made = await accounts.ask('POST', '/api/collections', { token: true, body: taken });
    assert.equal(made.status, 200, made.text);
    const answer = await dryRun(accounts, { definition: { ...definition, indexes }, rule: 'author = title' });
    assert.equal(answer.json.isValid, true, answer.text);
  });

  test('is refused by its place where the request is none', async (t) => {
    const accounts = await Accounts.start(t);
    for (const [body, place, code] of [
      [{ definition: undefined, rule: '' }, 'definition', 'validation_required'],
      [{ definition: 'posts', rule: '' }, 'definition', 'validation_invalid_value'],
      [{ definition: { name: '' }, rule: '' }, 'name', 'validation_required'],
      [{}, 'rule', 'validation_required'],
      [{ rule: '', record: 'x' }, 'record', 'validation_invalid_value'],
      [{ rule: '', caller: 'nobody' }, 'caller', 'validation_invalid_value'],
    ] as const) {
      const answer = await dryRun(accounts, body);
      assert.equal(answer.status, 400, answer.text);
      assert.deepEqual(codes(answer), { [place]: code });
    }
  });
});
