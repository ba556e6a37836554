import type { Collection, Field } from '../../api/client.ts';
import { namesBelow, targetOf } from '../../parts/complete-rule.ts';

/** What a text may go on with: the part that it takes the place of, and what can stand there. */
export interface Completion {
  readonly start: number;
  readonly choices: readonly Choice[];
}

export interface Choice {
  readonly text: string;
  /** What it is, in a few words. */
  readonly note: string;
}

const choicesMax = 12;

interface Names {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
}

/** Returns what can stand behind a text: a field, an operator, a value, or what joins the next condition. */
export function completeFilter(before: string, names: Names): Completion {
  const { kind, start, operand } = contextOf(before);
  const part = before.slice(start);
  const field = operand === '' ? undefined : findField(operand, names);
  const all = {
    operand: () => operands(part, names),
    // A word to look for is followed by others.
    operator: () => (field === undefined && !/^@|\./.test(operand) ? [] : operators(field)),
    value: () => [...values(field), ...operands(part, names)],
    joint: () => joints,
  }[kind]();
  const wanted = part.toLowerCase().replace(/^['"]/, '');
  const unique = [...new Map(all.map((choice) => [choice.text, choice])).values()];
  const fitting = unique.filter(({ text: choice }) => {
    const plain = choice.toLowerCase().replace(/^['"]/, '');
    return plain.startsWith(wanted) && choice !== part;
  });
  return { start, choices: fitting.slice(0, choicesMax) };
}

interface Context {
  readonly kind: 'operand' | 'operator' | 'value' | 'joint';
  /** Where the part begins that is being typed. */
  readonly start: number;
  /** The operand at the left of the condition. */
  readonly operand: string;
}

const token =
  /\s+|'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|&&|\|\||\?(?:!=|!~|>=|<=|[=~<>])|!=|!~|>=|<=|[=~<>()]|[^\s=~<>()&|!?'"]+|./gsy;

/** Reads the tokens before the caret. The last one, without a space behind it, is what is being typed. */
function contextOf(text: string): Context {
  let kind: Context['kind'] = 'operand';
  let operand = '';
  let last: Context = { kind, start: 0, operand };
  for (const match of text.matchAll(token)) {
    const [one] = match;
    const end = match.index + one.length;
    if (one.trim() === '') {
      last = { kind, start: end, operand };
      continue;
    }
    const place: Context = { kind, start: match.index, operand };
    const isOperator = /^[?!]?[=~<>]/.test(one);
    if (one === '&&' || one === '||' || one === '(') [kind, operand] = ['operand', ''];
    else if (isOperator) kind = 'value';
    else if (kind === 'operand') [kind, operand] = ['operator', one];
    else if (kind === 'value') kind = 'joint';
    const isWhole = one === '(' || one === ')' || isOperator || one === '&&' || one === '||';
    last = isWhole ? { kind, start: end, operand } : place;
  }
  return last;
}

const joints: readonly Choice[] = [
  { text: '&&', note: 'and' },
  { text: '||', note: 'or' },
];

const comparisons: readonly Choice[] = [
  { text: '=', note: 'is' },
  { text: '!=', note: 'is not' },
  { text: '>', note: 'is more than' },
  { text: '>=', note: 'is at least' },
  { text: '<', note: 'is less than' },
  { text: '<=', note: 'is at most' },
];

const searches: readonly Choice[] = [
  { text: '~', note: 'contains' },
  { text: '!~', note: 'does not contain' },
];

const anyOf: readonly Choice[] = [
  { text: '?=', note: 'any is' },
  { text: '?!=', note: 'any is not' },
  { text: '?~', note: 'any contains' },
];

/** The operators that say something about values of a field, the usual ones first. */
function operators(field: Field | undefined): readonly Choice[] {
  if (field?.type === 'bool') return comparisons.slice(0, 2);
  if (field?.type === 'number' || field?.type === 'date' || field?.type === 'autodate') return comparisons;
  if (field !== undefined && 'maxSelect' in field && field.maxSelect > 1)
    return [...searches, ...anyOf, ...comparisons.slice(0, 2)];
  return [...comparisons.slice(0, 2), ...searches, ...comparisons.slice(2), ...anyOf];
}

function values(field: Field | undefined): readonly Choice[] {
  if (field?.type === 'bool') return ['true', 'false'].map((text) => ({ text, note: 'value' }));
  if (field?.type === 'select')
    return field.values.map((value) => ({
      text: printText(value),
      note: 'value',
    }));
  return [{ text: "''", note: 'empty' }];
}

/** Writes a text as filters have it (docs/filters.md). */
function printText(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '\n': 'n', '\t': 't', '\r': 'r' };
  return `'${text.replaceAll(/[\\'\n\t\r]/g, (character) => `\\${escapes[character] ?? character}`)}'`;
}

/** Names of docs/filters.md, fields, those of related records behind a dot, and modifiers behind a colon. */
function operands(part: string, names: Names): readonly Choice[] {
  const colon = part.indexOf(':');
  if (colon > 0) {
    const base = part.slice(0, colon);
    return modifiers(findField(base, names)).map((one) => ({ text: base + one, note: 'modifier' }));
  }
  const path = part.split('.').slice(0, -1);
  const head = path.map((name) => `${name}.`).join('');
  return namesBelow(path, names).map(({ text, hint }) => ({ text: head + text, note: hint }));
}

function modifiers(field: Field | undefined): readonly string[] {
  if (field !== undefined && 'maxSelect' in field) return [':each', ':length'];
  return field?.type === 'text' || field?.type === 'email' ? [':lower'] : [];
}

/** The field at the end of a path of relations: `price`, `author.team.name`, `@collection.people.name`. */
function findField(path: string, { collection, collections }: Names): Field | undefined {
  let names = path.replace(/:\w*$/, '').split('.');
  let owner: Collection | undefined = collection;
  if (names[0] === '@collection') {
    owner = collections.find(({ name }) => name === names[1]?.replace(/:.*/, ''));
    names = names.slice(2);
  }
  for (const name of names.slice(0, -1)) owner = owner && targetOf(owner, name, collections);
  return owner?.fields.find(({ name }) => name === names.at(-1));
}
