import type { CollectionFinder } from '../../src/collections/collection-store.ts';
import { lockedRules, type Collection } from '../../src/collections/collection.ts';
import type { IndexDefinition } from '../../src/collections/index-definition.ts';
import type { StoredValue } from '../../src/fields/field-type.ts';
import { toField, type Question } from './world.ts';

/**
 * Records of several collections that refer to each other, and lists of the posts among them. The collections are always the
 * same; what is in them, and who may list it, is not. JSON, as a World is.
 */
export interface RelatedWorld {
  /** By collection: ids, and behind each the stored values in the order of the fields. */
  readonly rows: Readonly<Record<RelatedName, readonly (readonly StoredValue[])[]>>;
  readonly rules: RelatedRules;
  readonly questions: readonly RelatedQuestion[];
}

/** List rules by collection. */
export type RelatedRules = Readonly<Record<RelatedName, string | null>>;

export interface RelatedQuestion extends Question {
  readonly caller: RelatedCaller;
  /** Empty for the first page behind a cursor. */
  readonly cursor?: string;
}

/** A guest, or one of the people by id. A superuser may ask with all names, and sees everything. */
export type RelatedCaller = 'superuser' | 'guest' | 'u1' | 'u2';

export const relatedNames = ['teams', 'people', 'posts', 'comments', 'notes'] as const;
export type RelatedName = (typeof relatedNames)[number];

const choices = ['x', 'y', 'X', 'a%'];
const text = (name: string): object => ({ name, type: 'text' });
const number = (name: string): object => ({ name, type: 'number' });
const geo = (name: string): object => ({ name, type: 'geoPoint' });
const date = (name: string): object => ({ name, type: 'date' });
const json = (name: string): object => ({ name, type: 'json' });
const one = (name: string, target: RelatedName): object => ({
  name,
  type: 'relation',
  collectionId: idOf(target),
});
const many = (name: string, target: RelatedName): object => ({ ...one(name, target), maxSelect: 9 });

/** Without the ids, which every collection has. */
const definitions: Readonly<Record<RelatedName, readonly object[]>> = {
  teams: [text('name'), geo('place'), one('boss', 'people')],
  people: [
    text('name'),
    number('age'),
    { name: 'on', type: 'bool' },
    date('born'),
    json('info'),
    { ...text('secret'), hidden: true },
    { name: 'email', type: 'email' },
    { name: 'emailVisibility', type: 'bool' },
    one('team', 'teams'),
    many('friends', 'people'),
  ],
  posts: [
    text('title'),
    number('n'),
    date('due'),
    json('meta'),
    geo('place'),
    { name: 'kind', type: 'select', values: choices },
    { name: 'tags', type: 'select', values: choices, maxSelect: 4 },
    one('author', 'people'),
    many('readers', 'people'),
  ],
  comments: [
    number('stars'),
    text('text'),
    one('post', 'posts'),
    one('by', 'people'),
    many('about', 'posts'),
  ],
  notes: [text('text'), one('post', 'posts')],
};

function idOf(name: RelatedName): string {
  return `pbc_${name}`;
}

/** No two notes are on one post: a back relation with one record at most. A long text that an index is over has a prefix. */
const indexes: Readonly<Partial<Record<RelatedName, readonly IndexDefinition[]>>> = {
  posts: [indexOn('title', false)],
  people: [indexOn('name', false)],
  notes: [indexOn('post', true)],
};

function indexOn(column: string, isUnique: boolean): IndexDefinition {
  return {
    name: `${column}_idx`,
    isUnique,
    columns: [{ name: column, isNocase: false, isDescending: false }],
    where: [],
  };
}

const bare: readonly Collection[] = relatedNames.map((name) => ({
  id: idOf(name),
  name,
  type: name === 'people' ? 'auth' : 'base',
  system: false,
  rules: lockedRules,
  fields: [text('id'), ...definitions[name]].map((definition) => toField({ ...definition })),
  indexes: indexes[name] ?? [],
  auth: undefined,
  created: '',
  updated: '',
}));

/** As they are in a world with these rules. */
export function relatedCollections(rules?: RelatedRules): readonly Collection[] {
  if (rules === undefined) return bare;
  return bare.map((collection, index) => {
    const listRule = rules[relatedNames[index] ?? 'posts'];
    return { ...collection, rules: { ...lockedRules, listRule } };
  });
}

export function finderOf(collections: readonly Collection[]): CollectionFinder {
  return { find: (nameOrId) => collections.find(({ id, name }) => name === nameOrId || id === nameOrId) };
}
