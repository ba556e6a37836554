import type { Collection, Field } from '../../api/client.ts';

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

/** Returns what can stand at the caret, by what stands before it: a field, an operator, a value, or what joins the next condition. */
export function completeFilter(
  { text, caret }: { readonly text: string; readonly caret: number },
  collection: Collection,
  collections: readonly Collection[],
): Completion {
  const before = text.slice(0, caret);
  const { kind, start, operand } = contextOf(before);
  const part = before.slice(start);
  const field = operand === '' ? undefined : findField(operand, collection, collections);
  const all = {
    operand: () => operands(part, collection, collections),
    // A word to look for is followed by others.
    operator: () => (field === undefined && !/^@|\./.test(operand) ? [] : operators(field)),
    value: () => [...values(field), ...macros, ...operands(part, collection, collections)],
    joint: () => joints,
  }[kind]();
  const wanted = part.toLowerCase().replace(/^['"]/, '');
  const fitting = all.filter(({ text: choice }) => {
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

const macros: readonly Choice[] = [
  { text: '@now', note: 'this moment' },
  { text: '@todayStart', note: 'the beginning of today, UTC' },
  { text: '@todayEnd', note: 'the end of today' },
  { text: '@yesterday', note: '24 hours ago' },
  { text: '@tomorrow', note: 'in 24 hours' },
  { text: '@monthStart', note: 'the beginning of this month' },
  { text: '@monthEnd', note: 'the end of this month' },
  { text: '@yearStart', note: 'the beginning of this year' },
  { text: '@yearEnd', note: 'the end of this year' },
  { text: 'null', note: 'nothing' },
];

const request: readonly Choice[] = [
  { text: '@request.auth.id', note: 'who calls' },
  { text: '@request.auth.collectionName', note: 'the collection of the caller' },
  { text: '@request.method', note: 'of this request' },
  { text: '@request.query.', note: 'parameters of this request' },
  { text: '@request.headers.', note: 'headers of this request' },
];

/** Fields, those of related records behind a dot, modifiers behind a colon, and names of docs/filters.md. */
function operands(
  part: string,
  collection: Collection,
  collections: readonly Collection[],
): readonly Choice[] {
  const colon = part.indexOf(':');
  if (colon > 0) {
    const base = part.slice(0, colon);
    return modifiers(findField(base, collection, collections)).map((one) => ({
      text: base + one,
      note: 'modifier',
    }));
  }
  const [, head = ''] = /^(.*\.)[^.]*$/.exec(part) ?? [];
  const owner = head === '' ? collection : ownerOf(head.slice(0, -1), collection, collections);
  const own = owner === undefined ? [] : fieldChoices(owner, head);
  if (head !== '' && !part.startsWith('@')) return own;
  const others = collections.map(({ name }) => ({
    text: `@collection.${name}.`,
    note: 'all of its records',
  }));
  return [...own, ...(part.startsWith('@') ? [...request, ...others] : [])];
}

function fieldChoices({ fields }: Collection, head: string): readonly Choice[] {
  return fields
    .filter(({ type, name }) => type !== 'password' && name !== 'tokenKey')
    .map((field) => ({
      text: head + field.name,
      note: field.type === 'relation' ? 'relation: type . for its fields' : field.type,
    }));
}

function modifiers(field: Field | undefined): readonly string[] {
  if (field !== undefined && 'maxSelect' in field) return [':each', ':length'];
  return field?.type === 'text' || field?.type === 'email' ? [':lower'] : [];
}

/** The collection that a path of relations leads to: `author.team`, `@collection.people`, `comments_via_post`. */
function ownerOf(
  path: string,
  collection: Collection,
  collections: readonly Collection[],
): Collection | undefined {
  let owner: Collection | undefined = collection;
  let names = path.split('.');
  if (names[0] === '@collection') {
    owner = collections.find(({ name }) => name === names[1]?.replace(/:.*/, ''));
    names = names.slice(2);
  }
  for (const name of names) {
    const [, source] = /^(\w+)_via_\w+$/.exec(name) ?? [];
    const field: Field | undefined = owner?.fields.find((one) => one.name === name);
    if (source !== undefined) owner = collections.find((one) => one.name === source);
    else
      owner =
        field?.type === 'relation' ? collections.find(({ id }) => id === field.collectionId) : undefined;
  }
  return owner;
}

function findField(
  path: string,
  collection: Collection,
  collections: readonly Collection[],
): Field | undefined {
  const names = path.replace(/:\w*$/, '').split('.');
  const owner =
    names.length === 1 ? collection : ownerOf(names.slice(0, -1).join('.'), collection, collections);
  return owner?.fields.find(({ name }) => name === names.at(-1));
}
