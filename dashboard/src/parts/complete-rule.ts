import type { Collection, Field } from '../api/client.ts';
import type { Completion, CompletionList } from './editor/code-editor.ts';

interface Names {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
}

const shownMax = 12;

const moments: readonly string[] = [
  '@now',
  '@todayStart',
  '@todayEnd',
  '@yesterday',
  '@tomorrow',
  '@monthStart',
  '@monthEnd',
  '@yearStart',
  '@yearEnd',
  '@second',
  '@minute',
  '@hour',
  '@day',
  '@weekday',
  '@month',
  '@year',
];

const modifiers: readonly Completion[] = [
  { text: 'isset', hint: 'was it sent' },
  { text: 'changed', hint: 'does it differ from what is stored' },
  { text: 'each', hint: 'each of several values' },
  { text: 'length', hint: 'how many values' },
  { text: 'lower', hint: 'in lower case' },
];

/** Returns what may follow at the caret of a rule: names of docs/filters.md, of fields and relations. Nothing within a quoted text. */
export function completeRule(text: string, caret: number, names: Names): CompletionList {
  const before = text.slice(0, caret);
  const none = { from: caret, items: [] };
  if (isQuoted(before)) return none;
  const [word = ''] = /@?[\w.:]*$/.exec(before) ?? [];
  if (word === '') return none;
  const from = caret - word.length;
  const [, path = '', typed = ''] = /^(.*:)?(.*)$/.exec(word) ?? [];
  if (path !== '' && !/^@collection\.\w+:$/.test(path))
    return { from: from + path.length, items: matching(modifiers, typed) };
  const dot = word.lastIndexOf('.');
  const parent = dot === -1 ? [] : word.slice(0, dot).split('.');
  return {
    from: from + dot + 1,
    items: matching(namesBelow(parent, names), word.slice(dot + 1)),
  };
}

/** Whether the text ends inside a quoted one. A backslash takes the character behind it along. */
function isQuoted(text: string): boolean {
  return /['"]/.test(text.replaceAll(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/gs, ''));
}

function matching(items: readonly Completion[], typed: string): readonly Completion[] {
  const wanted = typed.toLowerCase();
  return items
    .filter(({ text }) => text.toLowerCase().startsWith(wanted) && text !== typed)
    .slice(0, shownMax);
}

/** Returns the names that may follow a path, which is what stands before each dot. */
export function namesBelow(
  path: readonly string[],
  { collection, collections }: Names,
): readonly Completion[] {
  const [first, second, ...rest] = path;
  if (first === undefined) return [...namesOf(collection, collections), ...roots];
  if (first === '@collection') {
    if (second === undefined)
      return collections.map(({ name }) => ({ text: `${name}.`, hint: 'collection' }));
    const start = collections.find(({ name }) => name === second.replace(/:.*$/, ''));
    return follow(start === undefined ? [] : [start], rest, collections);
  }
  if (first === '@request') {
    if (second === undefined) return requestParts;
    if (second === 'auth')
      return follow(
        collections.filter(({ type, system }) => type === 'auth' && !system),
        rest,
        collections,
      );
    return second === 'body' && rest.length === 0 ? fieldNames(collection) : [];
  }
  return follow([collection], path, collections);
}

const roots: readonly Completion[] = [
  { text: '@request.', hint: 'the request and its caller' },
  { text: '@collection.', hint: 'all records of a collection' },
  ...moments.map((text) => ({ text, hint: 'moment, UTC' })),
  { text: 'true', hint: 'value' },
  { text: 'false', hint: 'value' },
  { text: 'null', hint: 'value' },
  { text: 'strftime(', hint: 'function' },
  { text: 'geoDistance(', hint: 'function' },
];

const requestParts: readonly Completion[] = [
  { text: 'auth.', hint: 'record of the caller' },
  { text: 'body.', hint: 'what was sent' },
  { text: 'query.', hint: 'parameters of the URL' },
  { text: 'headers.', hint: 'x_token for X-Token' },
  { text: 'method', hint: 'GET, POST, …' },
  { text: 'context', hint: 'default, expand, batch, …' },
];

/** The names of the collections that a path of relations leads to. */
function follow(
  starts: readonly Collection[],
  path: readonly string[],
  collections: readonly Collection[],
): readonly Completion[] {
  let reached = starts;
  for (const name of path) reached = reached.flatMap((one) => targetOf(one, name, collections) ?? []);
  const all = reached.flatMap((one) => namesOf(one, collections));
  return [...new Map(all.map((item) => [item.text, item])).values()];
}

/** The collection that a relation leads to, or one that refers to this one: `comments_via_post`. */
export function targetOf(
  collection: Collection,
  name: string,
  collections: readonly Collection[],
): Collection | undefined {
  const field = collection.fields.find((one) => one.name === name);
  if (field?.type === 'relation') return collections.find(({ id }) => id === field.collectionId);
  const [, other] = /^(\w+?)_via_\w+$/.exec(name) ?? [];
  return other === undefined ? undefined : collections.find((one) => one.name === other);
}

/** The fields, and what refers to the collection: `comments_via_post`. */
export function namesOf(collection: Collection, collections: readonly Collection[]): readonly Completion[] {
  const back = collections.flatMap((other) =>
    other.fields
      .filter((field) => field.type === 'relation' && field.collectionId === collection.id)
      .map((field) => ({ text: `${other.name}_via_${field.name}`, hint: 'back relation' })),
  );
  return [...fieldNames(collection), ...back];
}

function fieldNames({ fields }: Collection): readonly Completion[] {
  const isNamed = ({ type, name }: Field): boolean => type !== 'password' && name !== 'tokenKey';
  return fields.filter(isNamed).map(({ name, type }) => ({ text: name, hint: type }));
}
