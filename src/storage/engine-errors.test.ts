import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { asCertain, EngineFailure, faultOf, toDiskError, toEngineError } from './engine-errors.ts';

// As SQLite gives them: primary codes, and extended ones whose low byte is the primary code (https://www.sqlite.org/rescode.html).
const BUSY_SNAPSHOT = 517;
const IOERR_FSYNC = 1034;
const IOERR_READ = 266;
const FULL = 13;
const IOERR_SHMSIZE = 4874;
const READONLY_DBMOVED = 1032;
const CORRUPT_INDEX = 779;
const CONSTRAINT_NOTNULL = 1299;

test('the code of an error depends on what a client can do about it', () => {
  for (const [errcode, code, retryAfter] of [
    [5, 'unavailable', 1],
    [6, 'unavailable', 1],
    [BUSY_SNAPSHOT, 'unavailable', 1],
    [FULL, 'storage_full', 30],
    [IOERR_SHMSIZE, 'storage_full', 30],
  ] as const) {
    const error = toEngineError(driverError(errcode));
    assert.ok(error instanceof AppError && !(error instanceof EngineFailure));
    assert.equal(error.code, code);
    assert.equal(error.retryAfter, retryAfter);
  }
});

test('a medium that fails leaves the outcome unknown, and its own words out of the message', () => {
  for (const errcode of [IOERR_FSYNC, CORRUPT_INDEX, 26]) {
    const error = toEngineError(driverError(errcode));
    assert.ok(error instanceof EngineFailure, String(errcode));
    assert.equal(error.code, 'outcome_unknown');
    assert.doesNotMatch(error.message, /secret/);
    assert.match(String(error.cause), /secret/);
  }
});

test('a file that cannot be opened or written has changed nothing, and has to be opened again', () => {
  for (const errcode of [READONLY_DBMOVED, 3, 14]) {
    const error = toEngineError(driverError(errcode));
    assert.ok(error instanceof EngineFailure, String(errcode));
    assert.deepEqual([error.code, error.retryAfter], ['unavailable', 30]);
    assert.doesNotMatch(error.message, /secret/);
  }
});

test('bugs, and errors of other origin than the engine, stay unchanged', () => {
  for (const error of [
    driverError(CONSTRAINT_NOTNULL),
    driverError(1),
    new Error('other'),
    'text',
    undefined,
  ]) {
    assert.equal(toEngineError(error), error);
  }
});

test('the storage fault of an error is disk, damage, unavailable, or none', () => {
  for (const [fault, errcodes] of [
    ['disk', [FULL, 10, IOERR_FSYNC, 778, IOERR_SHMSIZE, 3, 8, READONLY_DBMOVED]],
    ['damage', [11, CORRUPT_INDEX, 26, IOERR_READ, 522, 8202, 8458]],
    ['unavailable', [14]],
    [undefined, [1, 5, 6, BUSY_SNAPSHOT, 18, CONSTRAINT_NOTNULL]],
  ] as const)
    for (const errcode of errcodes) {
      const error = driverError(errcode);
      for (const one of [error, toEngineError(error), asCertain(toEngineError(error))])
        assert.equal(faultOf(one), fault, String(errcode));
    }
  for (const code of ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS']) {
    const error = Object.assign(new Error('a secret path'), { code });
    const told = toDiskError(error);
    assert.ok(told instanceof AppError);
    assert.deepEqual([faultOf(error), faultOf(told), told.retryAfter], ['disk', 'disk', 30], code);
    assert.equal(told.code, code === 'ENOSPC' || code === 'EDQUOT' ? 'storage_full' : 'unavailable');
    assert.doesNotMatch(told.message, /secret/);
  }
  const missing = Object.assign(new Error('missing'), { code: 'ENOENT' });
  assert.deepEqual(
    [toDiskError(missing), faultOf(missing), faultOf(undefined)],
    [missing, undefined, undefined],
  );
});

test('a failure before anything was written has certainly left nothing', () => {
  for (const errcode of [IOERR_FSYNC, 11]) {
    const error = asCertain(toEngineError(driverError(errcode)));
    assert.ok(error instanceof EngineFailure);
    assert.deepEqual([error.code, error.retryAfter], ['unavailable', 30]);
    assert.match(String(error.cause), /secret/);
  }
  const full = toEngineError(driverError(FULL));
  assert.equal(asCertain(full), full);
});

function driverError(errcode: number): Error {
  return Object.assign(new Error('a secret path'), { errcode });
}
