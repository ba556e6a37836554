import * as fc from 'fast-check';
import type { StoredValue } from '../../src/fields/field-type.ts';
import { fieldType } from '../../src/fields/field-types.ts';
import { choices, dates, jsons, memberNames, numbers, texts } from './arbitrary-values.ts';
import { columnKind, toField, type Column, type Question, type World } from './world.ts';

/** A member of every type there is, and what a client could send for it. */
const fieldKinds: readonly {
  readonly definition: Readonly<Record<string, unknown>>;
  readonly values: fc.Arbitrary<unknown>;
}[] = [
  { definition: { type: 'text' }, values: texts },
  { definition: { type: 'text' }, values: texts },
  { definition: { type: 'number' }, values: fc.oneof(numbers, texts) },
  { definition: { type: 'bool' }, values: fc.boolean() },
  {
    definition: { type: 'email' },
    values: fc.constantFrom('', 'a@example.com', 'A@example.com', 'b@example.com'),
  },
  {
    definition: { type: 'url' },
    values: fc.constantFrom('', 'https://a.example', 'https://A.example/?q=%25'),
  },
  { definition: { type: 'date' }, values: dates },
  { definition: { type: 'autodate', onCreate: true }, values: dates },
  { definition: { type: 'select', values: choices }, values: fc.constantFrom('', ...choices) },
  {
    definition: { type: 'select', values: choices, maxSelect: 3 },
    values: fc.subarray([...choices], { maxLength: 3 }),
  },
  { definition: { type: 'json' }, values: jsons },
  { definition: { type: 'json' }, values: jsons },
];

interface GeneratedColumn {
  readonly name: string;
  readonly column: Column;
  readonly values: fc.Arbitrary<StoredValue>;
}

const generatedColumns: fc.Arbitrary<readonly GeneratedColumn[]> = fc
  .array(fc.tuple(fc.constantFrom(...fieldKinds), fc.boolean()), { minLength: 2, maxLength: 7 })
  .map((kinds) => kinds.map(([kind, isNullable], index) => generatedColumn(kind, isNullable, `f${index}`)));

function generatedColumn(
  { definition, values }: (typeof fieldKinds)[number],
  isNullable: boolean,
  name: string,
): GeneratedColumn {
  const field = toField({ ...definition, name });
  const { normalise, check, zero } = fieldType(field);
  const stored = values.map((value) => {
    const normalised = normalise(value, field.options);
    return check(normalised, field.options) === undefined ? normalised : zero(field.options);
  });
  const column = { kind: columnKind(field), isNullable: isNullable || field.type === 'json' };
  return { name, column, values: isNullable ? fc.option(stored, { freq: 5 }) : stored };
}

/** `questionsMax` lists of a table with at most a dozen rows. */
export function arbitraryWorld(questionsMax: number): fc.Arbitrary<World> {
  return generatedColumns.chain((generated) => {
    const columns = Object.fromEntries(generated.map(({ name, column }) => [name, column]));
    return fc.record({
      columns: fc.constant(columns),
      rows: fc.array(fc.tuple(...generated.map(({ values }) => values)), { minLength: 1, maxLength: 12 }),
      questions: fc.array(question(columns), { minLength: questionsMax, maxLength: questionsMax }),
    });
  });
}

function question(columns: World['columns']): fc.Arbitrary<Question> {
  const names = nameOf(columns);
  const asked = fc.record(
    {
      filter: fc.oneof(
        { weight: 4, arbitrary: comparison(names) },
        { weight: 1, arbitrary: junction(names) },
      ),
      sort: fc.array(sortKey(names), { minLength: 1, maxLength: 3 }).map((keys) => keys.join(',')),
      page: fc.constantFrom('1', '2', '3'),
      perPage: fc.constantFrom('1', '2', '5'),
      skipTotal: fc.constantFrom('1', '0'),
    },
    { requiredKeys: ['filter'] },
  );
  const pageless = fc.record({ sort: fc.constant('@random') });
  return fc.oneof({ weight: 60, arbitrary: asked }, { weight: 1, arbitrary: pageless });
}

function nameOf(columns: World['columns']): fc.Arbitrary<string> {
  const steps = fc.array(fc.constantFrom<string>(...memberNames, '1', '9', '1234567890'), {
    minLength: 1,
    maxLength: 3,
  });
  const names = Object.entries(columns).flatMap(([name, { kind }]) =>
    kind === 'json'
      ? [
          { weight: 1, arbitrary: fc.constant(name) },
          { weight: 1, arbitrary: steps.map((path) => [name, ...path].join('.')) },
        ]
      : [{ weight: 2, arbitrary: fc.constant(name) }],
  );
  return fc.oneof(...names);
}

const operators = fc.constantFrom('=', '!=', '~', '!~', '<', '<=', '>', '>=');
const macros =
  '@now @yesterday @tomorrow @todayStart @todayEnd @monthStart @yearEnd @year @month @day @hour @minute @second @weekday'.split(
    ' ',
  );

function comparison(names: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const side = fc.oneof({ weight: 3, arbitrary: names }, { weight: 3, arbitrary: literals });
  const any = fc.constantFrom('', '', '', '?');
  return fc.oneof(
    { weight: 4, arbitrary: fc.tuple(names, any, operators, side).map((parts) => spaced(parts)) },
    { weight: 1, arbitrary: fc.tuple(side, any, operators, side).map((parts) => spaced(parts)) },
  );
}

function spaced([left, any, operator, right]: readonly string[]): string {
  return `${left} ${any}${operator} ${right}`;
}

const literals = fc.oneof(
  { weight: 5, arbitrary: texts.map(quoted) },
  { weight: 4, arbitrary: numbers.filter((value) => !String(value).includes('e')).map(String) },
  { weight: 2, arbitrary: fc.constantFrom('true', 'false', 'null', "''", '1.0', '0.50', '-0') },
  { weight: 1, arbitrary: fc.constantFrom(...macros) },
);

/** Behind a backslash no quote closes a text, so one that would end in it gets a letter more. */
function quoted(text: string): string {
  const closed = text.endsWith('\\') ? `${text}a` : text;
  return `'${closed.replaceAll("'", String.raw`\'`)}'`;
}

function junction(names: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const { tree } = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      comparison(names),
      fc
        .tuple(tie('tree'), fc.constantFrom('&&', '||'), tie('tree'), fc.boolean())
        .map(([left, join, right, isGroup]) =>
          isGroup ? `(${left} ${join} ${right})` : `${left} ${join} ${right}`,
        ),
    ),
  }));
  return tree;
}

function sortKey(names: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const name = fc.oneof(
    { weight: 12, arbitrary: names },
    { weight: 1, arbitrary: fc.constantFrom('id', '@rowid') },
  );
  return fc.tuple(fc.constantFrom('', '-', '+'), name).map((parts) => parts.join(''));
}
