import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkAnswer } from './support/check-answer.ts';

const origin = 'http://127.0.0.1:8090';
const record = { collectionId: 'c', collectionName: 'posts', id: 'r' };
const refusal = { data: {}, message: 'No.', status: 400 };

interface Case {
  readonly method?: string;
  readonly path: string;
  readonly body?: string;
  readonly status?: number;
  readonly json?: unknown;
}

function check({ method = 'GET', path, body = '', status = 200, json }: Case): void {
  const text = json === undefined ? '' : JSON.stringify(json);
  checkAnswer({ method, url: origin + path, body }, { status, text, json });
}

function assertRefused(cases: readonly Case[]): void {
  for (const one of cases) assert.throws(() => check(one), assert.AssertionError, JSON.stringify(one));
}

test('an answer that the document describes passes, under every form of its path', () => {
  const health = { code: 200, message: 'API is healthy.', data: {} };
  check({ path: '/api/health', json: health });
  check({ path: '/i/acme/api/health?x=1', json: health });
  check({ path: '/api/%68ealth', json: health });
  check({ method: 'HEAD', path: '/api/health' });
  check({ path: '/api/records/posts/r', json: { ...record, title: 'any field' } });
  check({ path: '/api/records/posts/r', status: 304 });
  check({ method: 'DELETE', path: '/api/collections/posts/records/r', status: 204 });
  check({ path: '/api/nothing', status: 404, json: { ...refusal, status: 404 } });
  check({ method: 'PUT', path: '/api/health', status: 405, json: { ...refusal, status: 405 } });
});

test('a member that is missing, of another type, or described nowhere is refused', () => {
  const path = '/api/health';
  assertRefused([
    { path, json: { code: 200, message: 'API is healthy.' } },
    { path, json: { code: '200', message: 'API is healthy.', data: {} } },
    { path, json: { code: 200, message: 'API is healthy.', data: {}, more: 1 } },
    { path, json: { code: 200, message: 'API is healthy.', data: { more: 1 } } },
    { path: '/api/records/posts/r', json: { id: 'r' } },
    { path: '/api/records/posts', json: { items: [record] } },
  ]);
});

test('a status that is described nowhere is refused, and so is a body where there is none', () => {
  assertRefused([
    { path: '/api/health', status: 201, json: {} },
    { path: '/api/health', status: 409, json: { ...refusal, status: 409 } },
    { path: '/api/nothing', status: 200, json: {} },
    { method: 'DELETE', path: '/api/records/posts/r', status: 204, json: {} },
    { path: '/api/health' },
  ]);
});

test('a refusal has the members of refusals and no others, down to each problem', () => {
  const path = '/api/records/posts';
  const problem = { code: 'validation_required', message: 'Cannot be blank.' };
  const refused = (data: unknown): Case => ({ path, status: 400, json: { ...refusal, data } });
  check(refused({ title: problem, fields: { 0: { name: { ...problem, params: { min: 1 } } } } }));
  assertRefused([
    refused(null),
    refused({ title: 'Cannot be blank.' }),
    refused({ title: { ...problem, more: 1 } }),
    { path, status: 400, json: { ...refusal, stack: 'at …' } },
  ]);
});

test('with `fields` members may be missing, but none may come that is described nowhere', () => {
  check({ path: '/api/records/posts/r?fields=title', json: { title: 'a' } });
  check({
    path: '/api/collections?fields=name',
    json: { items: [{ name: 'a' }], page: 1, perPage: 30, totalItems: 1, totalPages: 1 },
  });
  const body = '{"requests":[{"method":"POST","url":"/api/records/posts?fields=title"}]}';
  check({ method: 'POST', path: '/api/batch', body, json: [{ body: { title: 'a' }, status: 201 }] });
  assertRefused([{ path: '/api/health?fields=code', json: { code: 200, more: 1 } }]);
});
