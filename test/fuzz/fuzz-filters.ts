import { AppError } from '../../src/base/errors.ts';
import { baseAlias, RecordScope } from '../../src/query/record-scope.ts';
import { compileSort, parseSort, sortTerms } from '../../src/filters/compile/sort.ts';
import { parseFilter } from '../../src/filters/parse.ts';
import { parseFields } from '../../src/query/projection.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { guest, operator } from '../../src/access/caller.ts';
import { sql } from '../../src/sql/sql.ts';
import { postgresNames } from '../../src/storage/postgres/postgres-names.ts';
import { sqliteNames } from '../../src/storage/sqlite/sqlite-names.ts';
import { Random } from '../faults/random.ts';
import { finderOf, relatedCollections } from '../parity/related-world.ts';

/**
 * Texts that a client could send as filter, sort and fields: none may lead to anything but SQL or a refusal. Half of them are
 * made of the words of the language, so that they come far; the others are these with something in them changed.
 */
export interface FuzzReport {
  readonly inputs: number;
  /** Understood and compiled. */
  readonly accepted: number;
  readonly slowestMs: number;
  readonly slowest: string;
}

/** Throws an Error with the input that made anything but a bad request. The same seed makes the same inputs. */
export function fuzzFilters({
  inputs,
  seed,
}: {
  readonly inputs: number;
  readonly seed: number;
}): FuzzReport {
  const numbers = new Random(seed);
  const random: Below = (limit) => numbers.integer(0, limit - 1);
  let accepted = 0;
  let slowestMs = 0;
  let slowest = '';
  for (let count = 0; count < inputs; count += 1) {
    const text = makeInput(random);
    const startedMs = performance.now();
    if (tryInput(text, random)) accepted += 1;
    const ms = performance.now() - startedMs;
    if (ms > slowestMs) [slowestMs, slowest] = [ms, text];
  }
  return { inputs, accepted, slowestMs, slowest };
}

/** A whole number from 0 and below this. */
type Below = (limit: number) => number;

const collections = relatedCollections({
  teams: '',
  people: 'on = true',
  posts: '',
  comments: null,
  notes: '',
});
const engines = [sqliteNames, postgresNames('fuzz', 'fuzz')] as const;

/** Whether it was understood. */
function tryInput(text: string, random: Below): boolean {
  try {
    compile(text, random);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_request' && error.message.isWellFormed())
      return false;
    throw new Error(`${JSON.stringify(text)} leads to ${String(error)}`, { cause: error });
  }
}

function compile(text: string, random: Below): void {
  const kind = random(10);
  if (kind === 0) return void parseFields(text);
  const names = engines[random(2)] ?? sqliteNames;
  const collection = collections.find(({ name }) => name === 'posts');
  if (collection === undefined) throw new Error('there are posts');
  const caller = random(3) === 0 ? guest : operator;
  const context = { collections: finderOf(collections), names, input: ruleInputOfCaller(caller), now: 0 };
  const scope = new RecordScope(context, { collection, alias: baseAlias }, { joinsOutside: true });
  if (kind > 1) {
    scope.addFilter(parseFilter(text));
    if (scope.condition?.text.includes('undefined') === true) throw new Error('the SQL has a hole');
    return;
  }
  const tieBreaker = { sql: sql`"$position"`, kind: 'number' } as const;
  const terms = sortTerms(parseSort(text), {
    resolve: scope.resolve,
    tieBreaker,
    dialect: names.dialect,
  });
  compileSort(terms, names.dialect);
}

const operands =
  "title n due meta meta.a.0 place place.lon kind tags:each tags:length readers:length title:lower author.name author.team.name readers.name readers.age comments_via_post.stars notes_via_post.text people_via_x.y @collection.people.name @collection.people:a.age @request.auth.id @request.query.n @request.body.tags:each @now @year null true -5 1.5 0 'a' \"b\" '%' '' nothing author.team.boss.team.boss.team.boss.name".split(
    ' ',
  );
const calls = [
  "strftime('%Y-%m', due)",
  "strftime('%d', 'now', '+1 day')",
  'geoDistance(place.lon, place.lat, 1, 2)',
  'geoDistance(1,2,3,4)',
  "strftime('%q')",
  'strftime(',
  'geoDistance(n,',
];
const operators = '= != ~ !~ < <= > >= ?= ?!= ?~ ?< == = =~'.split(' ');
const joins = ['&&', '||', '&&', '||', '&', 'and', '', '//x\n'];
const strange = [
  '(',
  ')',
  '((',
  ',',
  "'",
  '"',
  '\\',
  '\u0000',
  '\ud800',
  '😀',
  '\u00a0',
  '\n',
  '\t',
  '?',
  '$1',
  ':',
  '.',
  '@',
  '#',
  '-',
  '%',
  '//',
  '/*',
  ';--',
  '9'.repeat(20),
  'é',
  '*',
  ':excerpt(',
  ')',
  'x'.repeat(300),
  '('.repeat(40),
];

function pick(list: readonly string[], random: Below): string {
  return list[random(list.length)] ?? '';
}

function makeInput(random: Below): string {
  const parts: string[] = [];
  const length = random(20) === 0 ? random(220) : 1 + random(5);
  for (let count = 0; count < length; count += 1) {
    const open = random(6) === 0 ? '(' : '';
    const left = random(8) === 0 ? pick(calls, random) : pick(operands, random);
    const right = random(12) === 0 ? pick(calls, random) : pick(operands, random);
    parts.push(
      `${count > 0 ? ` ${pick(joins, random)} ` : ''}${open}${left} ${pick(operators, random)} ${right}${open === '' ? '' : ')'}`,
    );
  }
  let text = parts.join('');
  if (random(8) === 0) text = pick(operands, random);
  for (let changes = random(2) === 0 ? 0 : 1 + random(4); changes > 0; changes -= 1)
    text = change(text, random);
  return text;
}

function change(text: string, random: Below): string {
  const at = random(text.length + 1);
  const end = at + random(6);
  switch (random(4)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, at) + pick(strange, random) + text.slice(at);
    case 2:
      return text.slice(0, at) + String.fromCharCode(random(0x110)) + text.slice(end);
    default:
      return text.slice(0, at) + text.slice(at, end).repeat(1 + random(60)) + text.slice(end);
  }
}
