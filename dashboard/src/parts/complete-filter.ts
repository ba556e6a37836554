import type { Collection, Field } from '../api/client.ts';
import { namesBelow, namesOf, targetOf } from './complete-rule.ts';
import type { Completion, CompletionList } from './editor/code-editor.ts';

const choicesMax = 12;
/** The state before a change, which filters of endpoints can name. */
const old = '@old.';

interface Names {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  /** Whether the filter is of changes rather than of records. */
  readonly isOfChanges?: boolean;
}

/** Returns what can stand behind a text: a field, an operator, a value, or what joins the next condition. */
export function completeFilter(before: string, names: Names): CompletionList {
  const { kind, start, operand } = contextOf(before);
  const part = before.slice(start);
  const field = operand === '' ? undefined : findField(operand, names);
  const isFlag = field?.type === 'bool' || operand.endsWith(':changed');
  const all = {
    operand: () => operands(part, names),
    // A word to look for is followed by others.
    operator: () => {
      if (isFlag) return equalities;
      return field === undefined && !/^@|\./.test(operand) ? [] : operators(field);
    },
    value: () => [...(isFlag ? flags : values(field)), ...operands(part, names)],
    joint: () => joints,
  }[kind]();
  const wanted = part.toLowerCase().replace(/^['"]/, '');
  const fitting = unique(all).filter(({ text: choice }) => {
    const plain = choice.toLowerCase().replace(/^['"]/, '');
    return plain.startsWith(wanted) && choice !== part;
  });
  return { from: start, items: fitting.slice(0, choicesMax) };
}

interface Caret {
  readonly text: string;
  readonly caret: number;
}

/** Returns what can stand at the caret in a filter of several collections. Nothing before a key is typed, as Enter and Tab would take it. */
export function completeFilterOf(
  chosen: readonly Collection[],
  { text, caret }: Caret,
  names: Omit<Names, 'collection'>,
): CompletionList {
  const before = text.slice(0, caret);
  const { start: from } = contextOf(before);
  if (from === caret) return { from, items: [] };
  const lists = chosen.map((collection) => completeFilter(before, { ...names, collection }));
  return { from, items: unique(lists.flatMap((list) => list.items)).slice(0, choicesMax) };
}

function unique(items: readonly Completion[]): readonly Completion[] {
  return [...new Map(items.map((item) => [item.text, item])).values()];
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

const joints: readonly Completion[] = [
  { text: '&&', hint: 'and' },
  { text: '||', hint: 'or' },
];

const equalities: readonly Completion[] = [
  { text: '=', hint: 'is' },
  { text: '!=', hint: 'is not' },
];

const comparisons: readonly Completion[] = [
  ...equalities,
  { text: '>', hint: 'is more than' },
  { text: '>=', hint: 'is at least' },
  { text: '<', hint: 'is less than' },
  { text: '<=', hint: 'is at most' },
];

const searches: readonly Completion[] = [
  { text: '~', hint: 'contains' },
  { text: '!~', hint: 'does not contain' },
];

const anyOf: readonly Completion[] = [
  { text: '?=', hint: 'any is' },
  { text: '?!=', hint: 'any is not' },
  { text: '?~', hint: 'any contains' },
];

/** The operators that say something about values of a field, the usual ones first. */
function operators(field: Field | undefined): readonly Completion[] {
  if (field?.type === 'number' || field?.type === 'date' || field?.type === 'autodate') return comparisons;
  if (field !== undefined && 'maxSelect' in field && field.maxSelect > 1)
    return [...searches, ...anyOf, ...equalities];
  return [...equalities, ...searches, ...comparisons.slice(equalities.length), ...anyOf];
}

const flags: readonly Completion[] = ['true', 'false'].map((text) => ({ text, hint: 'value' }));

function values(field: Field | undefined): readonly Completion[] {
  if (field?.type === 'select')
    return field.values.map((value) => ({
      text: printText(value),
      hint: 'value',
    }));
  return [{ text: "''", hint: 'empty' }];
}

/** Writes a text as filters have it (docs/filters.md). */
function printText(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '\n': 'n', '\t': 't', '\r': 'r' };
  return `'${text.replaceAll(/[\\'\n\t\r]/g, (character) => `\\${escapes[character] ?? character}`)}'`;
}

/** Names of docs/filters.md, fields, those of related records behind a dot, and modifiers behind a colon. */
function operands(part: string, names: Names): readonly Completion[] {
  const colon = part.indexOf(':');
  if (colon > 0) {
    const base = part.slice(0, colon);
    return modifiers(base, names).map((one) => ({ text: base + one, hint: 'modifier' }));
  }
  const { collection, collections, isOfChanges = false } = names;
  const path = part.split('.').slice(0, -1);
  const head = path.map((name) => `${name}.`).join('');
  const withHead = (below: readonly Completion[]): readonly Completion[] =>
    below.map((one) => ({ ...one, text: head + one.text }));
  if (!isOfChanges) return withHead(namesBelow(path, names));
  if (head === old) return withHead(namesOf(collection, collections));
  if (head.startsWith(old)) return withHead(namesBelow(path.slice(1), names));
  // A change has no request, and what its filter names begins at the record.
  const below = namesBelow(path, names).filter(({ text }) => !/^@(?:request|collection)\./.test(text));
  return path.length === 0 ? [...below, { text: old, hint: 'the state before' }] : withHead(below);
}

function modifiers(base: string, names: Names): readonly string[] {
  const field = findField(base, names);
  const ofField = (): readonly string[] => {
    if (field !== undefined && 'maxSelect' in field) return [':each', ':length'];
    return field?.type === 'text' || field?.type === 'email' ? [':lower'] : [];
  };
  const isChanging = names.isOfChanges === true && field !== undefined && !base.startsWith(old);
  return isChanging ? [':changed', ...ofField()] : ofField();
}

/** The field at the end of a path of relations: `price`, `author.team.name`, `@collection.people.name`. */
function findField(path: string, { collection, collections }: Names): Field | undefined {
  let names = path.replace(/:\w*$/, '').replace(old, '').split('.');
  let owner: Collection | undefined = collection;
  if (names[0] === '@collection') {
    owner = collections.find(({ name }) => name === names[1]?.replace(/:.*/, ''));
    names = names.slice(2);
  }
  for (const name of names.slice(0, -1)) owner = owner && targetOf(owner, name, collections);
  return owner?.fields.find(({ name }) => name === names.at(-1));
}
