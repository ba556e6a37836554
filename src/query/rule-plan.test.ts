import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { finderOf, relatedCollections } from '../../test/parity/related-world.ts';
import { type Caller, guest } from '../access/caller.ts';
import { type RuleInput, ruleInputOfCaller } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import type { CollectionFinder } from '../collections/collection-store.ts';
import { always, never } from '../filters/compile/compile.ts';
import type { Sql } from '../sql/sql.ts';
import { postgresNames } from '../storage/postgres/postgres-names.ts';
import { sqliteNames } from '../storage/sqlite/sqlite-names.ts';
import { type ConditionRequest, WrittenRecord } from './condition-request.ts';
import {
  bindRule,
  type BoundRule,
  conditionOf,
  type RuleForm,
  statementOf,
  toFilterText,
} from './rule-plan.ts';
import { sql } from '../sql/sql.ts';

const collections = relatedCollections({
  teams: '',
  people: 'on = true',
  posts: '',
  comments: null,
  notes: '',
});
const posts = collectionNamed('posts');
const people = collectionNamed('people');
let version = 1_000_000_000;

const rules: readonly string[] = [
  'author = @request.auth.id',
  '@request.auth.id != ""',
  '@request.auth.id = "u1"',
  'author.team = @request.auth.team',
  'readers.id ?= @request.auth.id || @request.auth.on = true',
  'title ~ @request.query.title',
  'title = @request.query.title && n > @request.query.n',
  '@request.query.n = 3',
  '@request.query.title:isset = true',
  '@request.headers.x_token:lower = "abc"',
  'due > @request.query.due',
  '@request.body.title = title',
  '@request.body.title:isset = false',
  '@request.body.title:changed = false',
  '@request.body.n:changed = true',
  '@request.body.readers:length < 3',
  '@request.body.readers:each = "u1"',
  '@request.body.author.team.name = "x"',
  '@request.body.readers.age ?> 3',
  '@request.body.meta.a = 1',
  '@request.method = "GET" && @request.context = "default"',
  'due < @now && due > @yesterday',
  '@collection.people.name ?= @request.query.title',
  "strftime('%Y', due) = @request.query.n",
];

const callers: readonly Caller[] = [
  guest,
  { kind: 'user', id: 'u1', collectionId: people.id },
  { kind: 'user', id: 'u2', collectionId: people.id },
  { kind: 'user', id: 'u1', collectionId: collectionNamed('teams').id },
];
const queries = [
  {},
  { title: 'a' },
  { title: '' },
  { title: 'a%b', n: '3' },
  { n: 'x' },
  { due: '2026-01-02' },
];
const bodies: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { title: 'a', n: 3 },
  { title: '', readers: ['u1'] },
  { title: null, readers: ['u1', 'u2', 'u3'], author: 'u2' },
  { 'readers+': 'u2', meta: { a: 1 } },
  { meta: '{"a":"1"}', author: '' },
];

/** Requests of many kinds: each value of one part beside changing values of the others. */
const requests: readonly ConditionRequest[] = callers.flatMap((caller, first) =>
  [...queries.keys(), ...bodies.keys()].map((index) => {
    const query = queries[(index + first) % queries.length] ?? {};
    const body = bodies[index % bodies.length] ?? {};
    const isWrite = (index + first) % 2 === 0;
    return {
      input: inputWith(caller, query, body),
      now: Date.UTC(2026, 10, 20 + index),
      write: isWrite
        ? new WrittenRecord(
            posts,
            posts.fields.map((_, at) => valueAt(at, body)),
          )
        : undefined,
    };
  }),
);

for (const names of [sqliteNames, postgresNames('plans', 'plans')])
  test(`a plan that was made for another request is the same as one made for this one (${names.engine})`, () => {
    let shared = 0;
    for (const rule of rules) {
      const cached = { find: finderOf(collections).find, version: (version += 1) };
      const plans = new Set<BoundRule['plan']>();
      let bound = 0;
      for (const request of [...requests, ...requests.toReversed()]) {
        const form = { collection: posts, rule };
        const plan = bindIn(cached, form, request);
        const own = bindIn(finderOf(collections), form, request);
        assert.equal(plan instanceof AppError, own instanceof AppError, rule);
        if (plan instanceof AppError || own instanceof AppError) continue;
        assert.deepEqual(conditionOf(plan), conditionOf(own), `${rule} ${JSON.stringify(request.input)}`);
        plans.add(plan.plan);
        bound += 1;
      }
      if (bound > plans.size) shared += 1;
    }
    // A list of values and a call with values of the request are compiled for one request.
    assert.ok(shared >= rules.length - 2, `${shared} of ${rules.length} rules share plans`);

    function bindIn(
      finder: CollectionFinder,
      form: RuleForm,
      request: ConditionRequest,
    ): BoundRule | AppError {
      try {
        return bindRule({ collections: finder, names }, form, request);
      } catch (error) {
        if (error instanceof AppError) return error;
        throw error;
      }
    }
  });

const names = sqliteNames;

test('a rule that the caller alone decides needs no statement', () => {
  const constantFor = (caller: Caller, rule: string): boolean | undefined =>
    bindFor(caller, { collection: posts, rule }).plan.constant;
  assert.equal(constantFor(guest, '@request.auth.id != ""'), false);
  assert.equal(constantFor(user('u1'), '@request.auth.id != ""'), true);
  assert.equal(constantFor(user('u1'), '@request.auth.id = "u1" || author = "u9"'), true);
  assert.equal(constantFor(user('u2'), '@request.auth.id = "u1" && author = "u9"'), false);
  assert.equal(constantFor(user('u2'), '@request.auth.id = "u1" || author = "u9"'), undefined);
  assert.equal(conditionOf(bindFor(guest, { collection: posts, rule: '@request.auth.id != ""' })), never);
  assert.equal(conditionOf(bindFor(guest, { collection: posts })), always);
});

test('filters of one form share a plan, whatever their constants are', () => {
  const finder = { find: finderOf(collections).find, version: (version += 1) };
  const bind = (filter: string): BoundRule =>
    bindRule(
      { collections: finder, names },
      { collection: posts, rule: 'author = @request.auth.id', filter: toFilterText(filter) },
      { input: ruleInputOfCaller(user('u1')), now: 0 },
    );
  const first = bind('title = "a" && n > 1');
  const second = bind('title = "b" && n > 2');
  assert.equal(first.plan, second.plan);
  assert.deepEqual(conditionOf(second).values, ['u1', 'b', 2]);
  assert.notEqual(bind('title = "" && n > 2').plan, first.plan);
});

test('a plan is for the definitions that it was made for', () => {
  const finder = { find: finderOf(collections).find, version: (version += 1) };
  const bind = (collection: RuleForm['collection'], collectionsOf: CollectionFinder): BoundRule =>
    bindRule(
      { collections: collectionsOf, names },
      { collection, rule: 'author = @request.auth.id' },
      { input: ruleInputOfCaller(user('u1')), now: 0 },
    );
  const { plan } = bind(posts, finder);
  assert.equal(bind(posts, finder).plan, plan);
  assert.notEqual(bind({ ...posts }, finder).plan, plan);
  assert.notEqual(bind(posts, { ...finder, version: (version += 1) }).plan, plan);
});

test('a plan keeps no value of the request that it was made for', () => {
  const form = { collection: posts, filter: toFilterText('title = "a long text"') };
  const rule = 'title = @request.query.title && author = @request.auth.id';
  const input = inputWith(user('u-of-the-first'), { title: 'a long query' }, {});
  const definitions = { collections: finderOf(collections), names };
  const { plan } = bindRule(definitions, { ...form, rule }, { input, now: 0 });
  assert.doesNotMatch(inspect(plan, { depth: null }), /a long|u-of-the-first/);
});

test('a statement of a plan has one text for all requests', () => {
  const finder = { find: finderOf(collections).find, version: (version += 1) };
  const statement = (id: string): Sql => {
    const rule = bindRule(
      { collections: finder, names },
      { collection: posts, rule: 'author = @request.auth.id' },
      { input: ruleInputOfCaller(user(id)), now: 0 },
    );
    const make = (): Sql => sql`SELECT 1 FROM posts WHERE id = ${null}`;
    return statementOf(rule, { form: 'test', make, values: [`post of ${id}`] });
  };
  assert.equal(statement('u1').text, statement('u2').text);
  assert.deepEqual(statement('u2').values, ['post of u2', 'u2']);
});

function bindFor(caller: Caller, form: RuleForm): BoundRule {
  const request = { input: ruleInputOfCaller(caller), now: 0 };
  return bindRule({ collections: finderOf(collections), names }, form, request);
}

function user(id: string): Caller {
  return { kind: 'user', id, collectionId: people.id };
}

function collectionNamed(name: string): RuleForm['collection'] {
  const found = collections.find((one) => one.name === name);
  assert.ok(found, name);
  return found;
}

function inputWith(
  caller: Caller,
  query: Readonly<Record<string, string>>,
  body: Readonly<Record<string, unknown>>,
): RuleInput {
  const texts = new Map(Object.entries(query));
  const headers = new Map([['x_token', query['title'] === 'a' ? 'ABC' : '']]);
  return {
    ...ruleInputOfCaller(caller),
    method: texts.size > 1 ? 'GET' : 'POST',
    query: { get: (name) => texts.get(name) ?? null },
    headers: { get: (name) => headers.get(name) ?? null },
    body,
  };
}

/** A value as a write would store it; what it is does not matter, but that it differs. */
function valueAt(index: number, body: Readonly<Record<string, unknown>>): string | number | null {
  const field = posts.fields[index];
  const sent = field === undefined ? undefined : (body[field.name] ?? body[`${field.name}+`]);
  if (field?.type === 'number') return Number(sent ?? 0);
  if (field?.type === 'json') return sent === undefined ? null : JSON.stringify(sent);
  if (field?.name === 'readers') return JSON.stringify([sent ?? []].flat());
  return typeof sent === 'string' ? sent : '';
}
