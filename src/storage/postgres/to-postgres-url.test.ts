import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../base/errors.ts';
import { toPostgresUrl } from './postgres-pool.ts';

test('a URL is used unchanged, except modes that mean full verification', () => {
  for (const url of [
    'postgres://app:pass%23word@host:5432/data?sslmode=verify-full&application_name=x',
    'postgresql://app@/data?host=/run/postgresql',
    'postgres:///data',
    'postgres://app@[::1]/data?sslmode=no-verify',
    'postgres://app@host/data?uselibpqcompat=true&sslmode=require',
  ])
    assert.equal(toPostgresUrl(url), url);
  for (const mode of ['require', 'verify-ca'])
    assert.equal(
      toPostgresUrl(`postgres://h/d?sslmode=${mode}&a=b`),
      'postgres://h/d?sslmode=verify-full&a=b',
    );
});

test('a URL that cannot be read, or a mode that would not always encrypt, is refused without a word of it', () => {
  for (const url of [
    'postgres://[bad/x',
    'postgres://app:pass/word@h:5432/x',
    'postgres://app:pass#word@h:5432/x',
    'postgres://app@h:99999/x',
    'postgres://app:password@h/x?sslmode=prefer',
    'postgres://app:password@h/x?a=b&sslmode=Require',
  ]) {
    assert.throws(
      () => toPostgresUrl(url),
      (error) =>
        error instanceof AppError && /URL|sslmode/.test(error.message) && !/word@/.test(error.message),
      url,
    );
  }
});
