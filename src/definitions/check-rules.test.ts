import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../fields/field.ts';
import { sqliteNames } from '../storage/sqlite/sqlite-names.ts';
import { checkRules } from './check-rules.ts';
import type { Collection } from '../collections/collection.ts';
import { collectionsOf } from '../query/record-scope.ts';
import { ProblemList } from '../collections/member-reader.ts';
import { scaffoldCollection } from './list-collections.ts';

const one = { id: 'field_one', system: false, hidden: false, presentable: false, help: '' };
const text: Field = { ...one, name: 'word', type: 'text', options: {} };
const select: Field = { ...one, name: 'word', type: 'select', options: { values: ['a', 'b'], maxSelect: 2 } };

/** Of the first of collections that sign in, each with one field. */
function isRefused(rule: string, fields: readonly Field[]): boolean {
  const all = fields.map((field, number): Collection => {
    return { ...scaffoldCollection('auth'), id: `id_${number}`, name: `accounts_${number}`, fields: [field] };
  });
  const [own] = all;
  assert.ok(own);
  const problems = new ProblemList();
  const collection = { ...own, rules: { ...own.rules, viewRule: rule } };
  checkRules(collection, { collections: collectionsOf(all), names: sqliteNames }, problems);
  return !problems.isEmpty;
}

const rule = '@request.auth.word:length > 1';

test('a rule is valid when the accounts of one collection have all fields that it names', () => {
  assert.equal(isRefused(rule, [text]), true);
  assert.equal(isRefused(rule, [select]), false);
  assert.equal(isRefused(rule, [text, select]), false);
  assert.equal(isRefused(rule, [text, { ...select, name: 'other' }]), true);
  assert.equal(isRefused(rule, [{ ...text, name: 'other' }]), false);
});

test('a rule is tried for the accounts of a few collections, however many there are', () => {
  const many = Array.from({ length: 100 }, () => text);
  assert.equal(isRefused(rule, many.with(50, select)), true);
});
