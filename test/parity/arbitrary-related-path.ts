import * as fc from 'fast-check';
import type { RelatedName } from './related-world.ts';

/** Where a path has led so far. */
interface Start {
  readonly prefix: string;
  readonly to: RelatedName;
}

/** A name that leads on from there over so many relations. */
export function arbitraryRelatedPath(start: Start, hopsMade: fc.Arbitrary<number>): fc.Arbitrary<string> {
  return hopsMade
    .chain((count) => walk(start, count))
    .chain(({ prefix, to }) => fc.constantFrom(...leaves[to]).map((leaf) => `${prefix}${leaf}`));
}

function walk(from: Start, count: number): fc.Arbitrary<Start> {
  if (count === 0) return fc.constant(from);
  return fc
    .constantFrom(...hops[from.to])
    .chain(([segment, to]) => walk({ prefix: `${from.prefix}${segment}.`, to }, count - 1));
}

/** What a name may end in, by collection. Multiple ones more often than they are. */
const leaves: Readonly<Record<RelatedName, readonly string[]>> = {
  teams: ['id', 'name', 'name:lower', 'place', 'place.lon', 'boss', 'boss.id', 'people_via_team:length'],
  people: [
    'id',
    'name',
    'name',
    'name:lower',
    'age',
    'age',
    'on',
    'born',
    'info',
    'info.a',
    'info.list.1',
    'info:length',
    'info.list:length',
    'email',
    'secret',
    'team',
    'team.id',
    'friends',
    'friends.id',
    'friends:each',
    'friends:length',
    'people_via_friends:length',
    'posts_via_author:length',
  ],
  posts: [
    'id',
    'title',
    'title',
    'title:lower',
    'n',
    'n',
    'due',
    'meta',
    'meta.a',
    'meta.0',
    'meta.a:lower',
    'meta:length',
    'place',
    'place.lat',
    'kind',
    'kind:each',
    'kind:length',
    'tags',
    'tags:each',
    'tags:each',
    'tags:length',
    'tags:lower',
    'author',
    'author.id',
    'readers',
    'readers.id',
    'readers:each',
    'readers:length',
    'comments_via_post:length',
    'notes_via_post:length',
  ],
  comments: [
    'id',
    'stars',
    'stars',
    'text',
    'text:lower',
    'post',
    'by.id',
    'about',
    'about:length',
    'about:each',
  ],
  notes: ['id', 'text', 'text:lower', 'post', 'post.id'],
};

const hops: Readonly<Record<RelatedName, readonly (readonly [segment: string, to: RelatedName])[]>> = {
  teams: [
    ['boss', 'people'],
    ['people_via_team', 'people'],
  ],
  people: [
    ['team', 'teams'],
    ['friends', 'people'],
    ['people_via_friends', 'people'],
    ['posts_via_author', 'posts'],
    ['posts_via_readers', 'posts'],
    ['comments_via_by', 'comments'],
    ['teams_via_boss', 'teams'],
  ],
  posts: [
    ['author', 'people'],
    ['author', 'people'],
    ['readers', 'people'],
    ['readers', 'people'],
    ['comments_via_post', 'comments'],
    ['comments_via_about', 'comments'],
    ['notes_via_post', 'notes'],
  ],
  comments: [
    ['post', 'posts'],
    ['by', 'people'],
    ['about', 'posts'],
  ],
  notes: [['post', 'posts']],
};
