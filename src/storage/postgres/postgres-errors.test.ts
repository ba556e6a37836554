import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from 'pg';
import { AppError } from '../../base/errors.ts';
import { EngineFailure, UniqueViolation } from '../engine-errors.ts';
import {
  isCollision,
  isStaleStatement,
  postgresFault,
  sqlState,
  toCommitError,
  toPostgresError,
} from './postgres-errors.ts';

test('the code of an error depends on what a client can do about it', () => {
  for (const [code, state] of [
    [
      'unavailable',
      '57P01 57P02 57P03 57014 08006 53300 53200 25006 25P03 25P04 28P01 3D000 42501 40001 40P01 55P03 58030 58P01 XX001 XX002',
    ],
    ['storage_full', '53100'],
    ['bad_request', '22021 22003 22P02 22P05 22012 2201B 54000 54001'],
  ] as const) {
    for (const each of state.split(' ')) {
      const error = toPostgresError(driverError(each));
      assert.ok(error instanceof AppError && !(error instanceof EngineFailure), each);
      assert.equal(error.code, code, each);
      assert.equal(error.retryAfter === undefined, code === 'bad_request');
      assert.doesNotMatch(error.message, /secret/);
      assert.equal(sqlState(error), each);
    }
  }
});

test('the storage fault of an error of the server is disk, damage, unavailable, or none', () => {
  for (const [fault, states] of [
    ['disk', '53100 58030'],
    ['damage', 'XX001 XX002 58P01'],
    ['unavailable', '25006'],
    [undefined, '57P01 53300 40001 23505 22003 XX000'],
  ] as const)
    for (const state of states.split(' ')) {
      assert.equal(postgresFault(toPostgresError(driverError(state))), fault, state);
      assert.equal(postgresFault(toCommitError(toPostgresError(driverError(state)))), fault, state);
    }
  assert.equal(postgresFault(new Error('timeout expired')), undefined);
});

test('a connection that is lost or never came about is unavailable', () => {
  for (const lost of [
    Object.assign(new Error('secret'), { code: 'ECONNRESET' }),
    new Error('timeout expired'),
  ]) {
    const error = toPostgresError(lost);
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'unavailable');
    assert.equal(error.cause, lost);
    assert.equal(toPostgresError(error), error);
  }
});

test('bugs stay unchanged', () => {
  for (const state of ['42P01', '42703', '42601', '23502', '23503', '23514', 'XX000']) {
    const error = driverError(state);
    assert.equal(toPostgresError(error), error);
  }
});

test('a unique violation is reported by its columns, whatever the language, their names and the values', () => {
  for (const [detail, columns] of [
    ['Key (id)=(a) already exists.', ['id']],
    ['Key (a, b)=(x, y)=(z) already exists.', ['a', 'b']],
    ['Schlüssel »(a, "$revision")=(x, 1)« existiert bereits.', ['a', '$revision']],
    ['Key ("a ""b"")=(c", straße)=(x) already exists.', ['a "b")=(c', 'straße']],
    ['Key (lower(a))=(x) already exists.', []],
    ['Key (a, (b || c))=(x, y) already exists.', []],
    [undefined, []],
  ] as const) {
    const cause = driverError('23505', { detail, constraint: 'some_index' });
    const error = toPostgresError(cause);
    assert.ok(error instanceof UniqueViolation);
    assert.deepEqual(error.columns, columns, String(detail));
    assert.equal(error.index, columns.length > 0 ? undefined : 'some_index');
    assert.equal(error.cause, cause);
  }
});

test('after a failed COMMIT only an error that proves a rollback lets the outcome be known', () => {
  for (const state of ['40001', '40P01', '23505', '57014']) {
    assert.ok(!(toCommitError(toPostgresError(driverError(state))) instanceof EngineFailure), state);
  }
  for (const state of ['57P01', '57P02', '08006', '53100', '25P04', '40003', 'XX000']) {
    assert.ok(toCommitError(toPostgresError(driverError(state))) instanceof EngineFailure, state);
  }
  assert.ok(toCommitError(toPostgresError(new Error('Connection terminated'))) instanceof EngineFailure);
});

test('collisions and stale statements are recognised also after their translation', () => {
  assert.ok(isCollision(toPostgresError(driverError('40P01'))));
  assert.ok(!isCollision(toPostgresError(driverError('57014'))));
  assert.ok(isStaleStatement(toPostgresError(driverError('0A000', { routine: 'RevalidateCachedQuery' }))));
  assert.ok(isStaleStatement(driverError('26000')));
  assert.ok(!isStaleStatement(driverError('0A000', { routine: 'transformJoin' })));
});

function driverError(code: string, members: object = {}): DatabaseError {
  return Object.assign(new DatabaseError('a secret message', 0, 'error'), { code }, members);
}
