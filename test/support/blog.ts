import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startService, type TestAnswer, type TestService, type TestServiceOptions } from './service.ts';

export interface Blog {
  readonly service: TestService;
  /** Makes a request as a superuser. */
  readonly ask: Ask;
  readonly askAsGuest: Ask;
  /** Returns ids of the posts that a filter selects for a superuser, in order; the message of the refusal if it is refused. */
  readonly select: (filter: string, options?: SelectOptions) => Promise<string>;
}

export type Ask = (method: string, path: string, body?: object) => Promise<TestAnswer>;

export interface SelectOptions {
  readonly collection?: string;
  readonly sort?: string;
  readonly asGuest?: boolean;
}

const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };

/** Pads a short id that tests can read to a valid one: `a` becomes `a00000000000000`. */
export function longId(id: string): string {
  return id.padEnd(15, '0');
}

/**
 * Teams have people, people write posts and read any number of them, and comments belong to posts:
 *
 *   teams   t1 (red), t2 (blue)
 *   people  ann (t1, 30), bob (t1, 40), cat (t2, 50), dan (no team, 20); nickname is hidden
 *   posts   p1 by ann, read by ann and bob, tags x y · p2 by bob, read by cat, tags x · p3 by cat, read by none, no tags
 *           p4 by nobody, read by ann, bob and cat, tags x y z
 *   comments on p1: c1 (by bob, 1 star), c2 (by cat, 5 stars) · on p2: c3 (by bob, 5 stars)
 */
export async function startBlog(t: TestContext, options: TestServiceOptions = {}): Promise<Blog> {
  const service = await startService(t, options);
  const asks = (token: { readonly token?: true }): Ask => {
    return (method, path, body) =>
      service.request(`/api/collections${path}`, { method, ...token, ...(body && { body }) });
  };
  const ask = asks({ token: true });
  const askAsGuest = asks({});
  await makeCollections(ask);
  await makeRecords(ask);
  const select: Blog['select'] = async (
    filter,
    { collection = 'posts', sort = '', asGuest = false } = {},
  ) => {
    const query = new URLSearchParams({ filter, sort }).toString();
    const path = `/${collection}/records?${query}`;
    const { status, json } = await (asGuest ? askAsGuest : ask)('GET', path);
    if (status !== 200) return String(json.message);
    const ids = idsOf(json.items).map((id) => id.replace(/0+$/, ''));
    assert.equal(json.totalItems, ids.length, `${filter}: the total is that of the rows`);
    return ids.join(' ');
  };
  return { service, ask, askAsGuest, select };
}

export function idsOf(records: readonly { readonly id: string }[]): readonly string[] {
  return records.map(({ id }) => id);
}

async function makeCollections(ask: Ask): Promise<void> {
  const make = async (definition: object): Promise<string> => {
    const { status, json, text } = await ask('POST', '', { ...open, ...definition });
    assert.equal(status, 200, text);
    return String(json.id);
  };
  const text = (name: string): object => ({ name, type: 'text' });
  const teams = await make({ name: 'teams', fields: [text('name')] });
  const people = await make({
    name: 'people',
    fields: [
      text('name'),
      { name: 'age', type: 'number' },
      { name: 'nickname', type: 'text', hidden: true },
      { name: 'team', type: 'relation', collectionId: teams },
    ],
  });
  const posts = await make({
    name: 'posts',
    fields: [
      text('title'),
      { name: 'author', type: 'relation', collectionId: people },
      { name: 'readers', type: 'relation', collectionId: people, maxSelect: 9 },
      { name: 'tags', type: 'select', values: ['x', 'y', 'z'], maxSelect: 3 },
      { name: 'kind', type: 'select', values: ['x', 'y'] },
    ],
  });
  await make({
    name: 'comments',
    fields: [
      { name: 'post', type: 'relation', collectionId: posts },
      { name: 'by', type: 'relation', collectionId: people },
      { name: 'stars', type: 'number' },
    ],
  });
}

async function makeRecords(ask: Ask): Promise<void> {
  const add = async (collection: string, id: string, body: object): Promise<void> => {
    const { status, text } = await ask('POST', `/${collection}/records`, { id: longId(id), ...body });
    assert.equal(status, 201, text);
  };
  const [ann, bob, cat] = ['ann', 'bob', 'cat'].map(longId);
  const team = longId('t1');
  await add('teams', 't1', { name: 'red' });
  await add('teams', 't2', { name: 'blue' });
  await add('people', 'ann', { name: 'Ann', age: 30, nickname: 'A', team });
  await add('people', 'bob', { name: 'Bob', age: 40, nickname: 'B', team });
  await add('people', 'cat', { name: 'Cat', age: 50, nickname: 'C', team: longId('t2') });
  await add('people', 'dan', { name: 'Dan', age: 20, nickname: 'D' });
  await add('posts', 'p1', { title: 'one', author: ann, readers: [ann, bob], tags: ['x', 'y'], kind: 'x' });
  await add('posts', 'p2', { title: 'two', author: bob, readers: [cat], tags: ['x'] });
  await add('posts', 'p3', { title: 'three', author: cat, kind: 'y' });
  await add('posts', 'p4', { title: 'four', readers: [ann, bob, cat], tags: ['x', 'y', 'z'] });
  await add('comments', 'c1', { post: longId('p1'), by: bob, stars: 1 });
  await add('comments', 'c2', { post: longId('p1'), by: cat, stars: 5 });
  await add('comments', 'c3', { post: longId('p2'), by: bob, stars: 5 });
}
