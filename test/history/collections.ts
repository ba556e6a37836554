import type { Values } from './exchange.ts';

export const collectionNames = ['authors', 'posts', 'comments'] as const;

export type CollectionName = (typeof collectionNames)[number];

/** Few, so that clients meet: `author000000001` and so on. */
export const idsOf: Readonly<Record<CollectionName, readonly string[]>> = {
  authors: idsFrom('author', 4),
  posts: idsFrom('post', 5),
  comments: idsFrom('comment', 7),
};

/** Of the field that a collection has a unique index over; `comments` have none. */
export const uniqueOf: Readonly<Partial<Record<CollectionName, string>>> = {
  authors: 'name',
  posts: 'slug',
};

export const uniqueValues = Array.from({ length: 12 }, (_, index) => `value ${index}`);

export const tags = ['a', 'b', 'c', 'd'];

/** A field of `posts` goes by one name or by the other; in what a history notes it is always `label`. */
export const labelNames = ['label', 'caption'] as const;

/** The rules that change, and what they may be. */
export const changingRules = {
  'comments.updateRule': ['', null, 'post.open = true'],
  'comments.listRule': ['', 'post.open = true'],
  'posts.viewRule': ['', null],
} as const;

export type ChangingRule = keyof typeof changingRules;

const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };

/** In this order: relations lead to what is there. `note` tells the write that a state comes from. */
export const definitions: readonly Values[] = [
  {
    name: 'authors',
    id: 'authors',
    ...open,
    fields: [
      { name: 'name', type: 'text' },
      { name: 'note', type: 'text' },
    ],
    indexes: ['CREATE UNIQUE INDEX authors_name ON authors (name)'],
  },
  {
    name: 'posts',
    id: 'posts',
    ...open,
    fields: [
      { name: 'slug', type: 'text' },
      { name: 'author', type: 'relation', collectionId: 'authors', required: true },
      { name: 'views', type: 'number' },
      { name: 'tags', type: 'select', maxSelect: tags.length, values: tags },
      { name: 'open', type: 'bool' },
      { name: 'label', type: 'text' },
      { name: 'note', type: 'text' },
    ],
    indexes: ['CREATE UNIQUE INDEX posts_slug ON posts (slug)'],
  },
  {
    name: 'comments',
    id: 'comments',
    ...open,
    fields: [
      { name: 'post', type: 'relation', collectionId: 'posts', cascadeDelete: true },
      { name: 'by', type: 'relation', collectionId: 'authors', maxSelect: 4 },
      { name: 'note', type: 'text' },
    ],
  },
];

function idsFrom(start: string, count: number): readonly string[] {
  return Array.from(
    { length: count },
    (_, index) => `${start}${String(index + 1).padStart(15 - start.length, '0')}`,
  );
}
