import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startService, type TestAnswer, type TestService } from './service.ts';

/** Where the records of `posts` are. */
export const postsPath = '/api/collections/posts/records';

/** The fields of `posts`: of every type that needs nothing else, and one that nobody is shown. */
export const postFields = [
  { name: 'text', type: 'text', max: 20 },
  { name: 'number', type: 'number' },
  { name: 'bool', type: 'bool' },
  { name: 'email', type: 'email' },
  { name: 'url', type: 'url' },
  { name: 'date', type: 'date' },
  { name: 'select', type: 'select', values: ['a', 'b'] },
  { name: 'selects', type: 'select', values: ['a', 'b', 'c'], maxSelect: 2 },
  { name: 'json', type: 'json' },
  { name: 'secret', type: 'text', hidden: true },
];

/** A service with a collection `posts` that everyone may do everything with, and one, `locked`, for superusers only. */
export async function startWithPosts(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
  const indexes = ["CREATE UNIQUE INDEX one ON posts (email, text) WHERE email != ''"];
  for (const body of [{ name: 'posts', ...open, fields: postFields, indexes }, { name: 'locked' }]) {
    const { status } = await service.request('/api/collections', { method: 'POST', token: true, body });
    assert.equal(status, 200);
  }
  return service;
}

/** Creates a record, in `posts` unless another path is given, for nobody in particular. */
export function addPost(service: TestService, body: unknown, path = postsPath): Promise<TestAnswer> {
  return service.request(path, { method: 'POST', body });
}
