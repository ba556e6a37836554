import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sqliteNames } from '../storage/sqlite/sqlite-names.ts';
import { checkRules } from './check-rules.ts';
import type { Collection } from './collection.ts';
import { collectionsOf } from './collections-of.ts';
import { ProblemList } from './problem-list.ts';
import { scaffoldCollection } from './scaffold-collection.ts';

test('a rule is tried for the accounts of its own collection and of a few others, however many there are', () => {
  const accounts = (number: number): Collection => {
    const field = {
      id: 'text_one',
      name: `text_${number}`,
      type: 'text',
      options: {},
      hidden: false,
    } as const;
    return {
      ...scaffoldCollection('auth'),
      id: `accounts_${number}`,
      name: `accounts_${number}`,
      fields: [{ ...field, system: false, presentable: false, help: '' }],
    };
  };
  const all = Array.from({ length: 100 }, (_, number) => accounts(number));
  const isRefused = (at: number, rule: string): boolean => {
    const own = all[at];
    assert.ok(own);
    const collection = { ...own, rules: { ...own.rules, viewRule: rule } };
    const problems = new ProblemList();
    checkRules(collection, { collections: collectionsOf(all), names: sqliteNames }, problems);
    return !problems.isEmpty;
  };
  assert.equal(isRefused(0, '@request.auth.text_0:length > 1'), true);
  assert.equal(isRefused(0, '@request.auth.text_99:length > 1'), true);
  assert.equal(isRefused(0, '@request.auth.text_50:length > 1'), false);
});
