import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ruleInputOfCaller } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import type { Dialect } from '../filters/dialect.ts';
import { parseFilter } from '../filters/parse.ts';
import { postgresDialect } from '../filters/postgres-dialect.ts';
import { sqliteDialect } from '../filters/sqlite-dialect.ts';
import { compileFilter } from '../filters/compile/compile.ts';
import type { Operand } from '../filters/operand.ts';
import { filterTemplate } from '../filters/template.ts';
import { bindSlots, sql, type Sql } from '../sql/sql.ts';
import { columnResolver } from './list-source.ts';
import { type PlanInputs, type PlanRequest, PlanSlots, valuesFor } from './plan-slots.ts';

const prefix = { sql: sql`left("long", 8)`, length: 8, isWhole: false };
const columns: Readonly<Record<string, Operand>> = {
  text: { sql: sql`"text"`, kind: 'text', isNeverNull: true },
  long: { sql: sql`"long"`, kind: 'text', prefix },
  number: { sql: sql`"number"`, kind: 'number' },
  bool: { sql: sql`"bool"`, kind: 'bool' },
  date: { sql: sql`"date"`, kind: 'date' },
  json: { sql: sql`"json"`, kind: 'json', path: ['a', 0] },
};

const dialects: readonly (readonly [string, Dialect])[] = [
  ['SQLite', sqliteDialect],
  ['PostgreSQL', postgresDialect],
];
const operators = ['=', '!=', '<', '<=', '>', '>=', '~', '!~'];
const texts = [
  '',
  'abc',
  'abd',
  '5',
  ' 1e2 ',
  'a%c',
  '%a',
  'a_c',
  'b\\c',
  'a%\\d',
  'x'.repeat(40),
  'y'.repeat(300),
  '😀',
];
const numbers = ['0', '1', '-1', '2.5', '1000000000000000'];

interface Made {
  readonly inputs: PlanInputs;
  readonly request: PlanRequest;
  readonly condition: Sql;
}

/** Undefined for a filter that is refused, such as one with a very long pattern. */
function make(text: string, dialect: Dialect, now: number): Made | undefined {
  const { literals, positions } = filterTemplate(text);
  const input = ruleInputOfCaller({ kind: 'guest' });
  const request = { literals, input, now, offset: 0 };
  const slots = new PlanSlots(request, positions);
  try {
    const resolve = columnResolver(columns);
    const condition = compileFilter(parseFilter(text), { resolve, dialect, now, slots });
    return { inputs: slots.finish(), request, condition };
  } catch (error) {
    assert.ok(error instanceof AppError);
    return undefined;
  }
}

/** Returns the condition of a plan for the request of another one; undefined where the plan is not right for it. */
function bound({ inputs, condition }: Made, { request }: Made): Sql | undefined {
  const values = valuesFor(inputs, request);
  return values && bindSlots(condition, values);
}

const forms: readonly string[] = [
  ...Object.keys(columns).flatMap((name) =>
    operators.flatMap((operator) => [`${name} ${operator} ?`, `? ${operator} ${name}`]),
  ),
  ...operators.map((operator) => `text = 'x' || ? ${operator} ?`),
  'text ?= ? && (number > ? || bool = ?)',
  "strftime('%Y', date) = ?",
  'geoDistance(number, 1, number, 2) < ?',
];

for (const [engine, dialect] of dialects)
  test(`a filter that was compiled for other constants is the same as one compiled for these (${engine})`, () => {
    let shared = 0;
    for (const form of forms)
      for (const literals of [texts.map((text) => `'${text}'`), numbers]) {
        const made = literals.flatMap((literal, index) => {
          let place = index;
          const text = form.replaceAll('?', () => literals[(place += 1) % literals.length] ?? literal);
          return make(text, dialect, 0) ?? [];
        });
        for (const one of made)
          for (const other of made) {
            const taken = bound(one, other);
            if (taken === undefined) continue;
            shared += one === other ? 0 : 1;
            assert.deepEqual(taken, bound(other, other), form);
          }
        for (const one of made)
          assert.ok(bound(one, one) !== undefined, 'a plan is right for its own request');
      }
    assert.ok(shared > 5_000, `${shared} were shared`);
  });

const pairs: readonly (readonly [one: string, other: string, isShared: boolean])[] = [
  ["text = 'abc1'", "text = 'abc2'", true],
  ["text = 'abc1'", "text = ''", false],
  ["text = ''", "text = 'abc1'", false],
  ['number > 5', 'number > -7.25', true],
  ["number = '5'", "number = '6'", true],
  ["number = '5'", "number = 'x'", false],
  ["text ~ 'a'", "text ~ 'b'", true],
  ["text ~ 'a%'", "text ~ 'b'", false],
  ["1 = 1 && text = 'a'", "2 = 2 && text = 'b'", true],
  ["1 = 1 && text = 'a'", "1 = 2 && text = 'b'", false],
  ['date > @now', 'date > @now', true],
];

for (const [one, other, isShared] of pairs)
  test(`${one} and ${other} have ${isShared ? 'one plan' : 'plans of their own'}`, () => {
    const [plan, next] = [make(one, sqliteDialect, 0), make(other, sqliteDialect, 1)];
    assert.ok(plan !== undefined && next !== undefined);
    assert.equal(bound(plan, next) !== undefined, isShared);
  });

test('a macro has the time of the request, and a condition that depends on the time is marked', () => {
  const [plan, later] = [make('date > @now', sqliteDialect, 0), make('date > @now', sqliteDialect, 1_000)];
  assert.ok(plan !== undefined && later !== undefined);
  assert.deepEqual(bound(plan, later)?.values, ['1970-01-01 00:00:01.000Z']);
  assert.equal(plan.inputs.usesTime, true);
  assert.equal(make("strftime('%Y', date) = '2026'", sqliteDialect, 0)?.inputs.isPinned, true);
  assert.equal(make("text = 'a'", sqliteDialect, 0)?.inputs.usesTime, false);
});
