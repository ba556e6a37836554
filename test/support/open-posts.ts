import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startService, type TestAnswer, type TestService } from './service.ts';

/** Path of the records of `posts`. */
export const postsPath = '/api/collections/posts/records';

/** The fields of `posts`: one of most types that need neither a collection nor a file, and a hidden one. */
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

/** Starts a service with a collection `posts`, on which everyone may do everything, and `locked`, for superusers only. */
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

/** Creates a record as a guest, in `posts` unless another path is given. */
export function addPost(service: TestService, body: unknown, path = postsPath): Promise<TestAnswer> {
  return service.request(path, { method: 'POST', body });
}
