import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { AppError, busy } from '../../base/errors.ts';
import type { LogMembers } from '../../base/logger.ts';
import { ErrorLog } from './error-log.ts';
import { toErrorAnswer } from '../error-response.ts';

interface Noted {
  readonly errors: ErrorLog;
  readonly lines: { readonly message: string; readonly members: LogMembers }[];
  /** A request that fails with this error. */
  readonly fail: (error: unknown, id?: string) => void;
}

function openLog(t: TestContext): Noted {
  const lines: Noted['lines'] = [];
  const refuse = (message: string): void => assert.fail(message);
  const error = (message: string, members: LogMembers = {}): void => void lines.push({ message, members });
  const errors = new ErrorLog({ debug: refuse, info: refuse, warn: refuse, error });
  t.after(() => errors.flush());
  const fail: Noted['fail'] = (thrown, id = 'x') =>
    errors.note(thrown, { id, method: 'GET' }, toErrorAnswer(thrown));
  return { errors, lines, fail };
}

test('requests answered 503 are one line for each time and status, with the reasons and without a stack', (t) => {
  const { errors, lines, fail } = openLog(t);
  fail(busy(new Error('outer', { cause: new Error('the server is gone') })), 'first');
  fail(busy());
  fail(busy());
  fail(new AppError('storage_full', 'The storage is full.'), 'other');
  fail(new AppError('unavailable', 'The service is not available.', { explanation: 'a.db is missing' }));
  assert.deepEqual(lines, []);
  errors.flush();
  errors.flush();
  assert.deepEqual(lines, [
    {
      message:
        '4 requests were answered 503: 1 × The service is busy, try again. (the server is gone) ' +
        '2 × The service is busy, try again. 1 × The service is not available. (a.db is missing)',
      members: { status: 503, requestId: 'first' },
    },
    {
      message: '1 request was answered 507: 1 × The storage is full.',
      members: { status: 507, requestId: 'other' },
    },
  ]);
});

test('reasons that differ each time make no endless line', (t) => {
  const { errors, lines, fail } = openLog(t);
  for (let count = 0; count < 100; count += 1) fail(busy(new Error(`${count}`.padEnd(1_000, 'x'))));
  errors.flush();
  assert.match(lines[0]?.message ?? '', /^100 requests were answered 503: 1 × .* 90 × Other reasons\.$/);
  assert.ok((lines[0]?.message.length ?? 0) < 4_000);
});

test('a bug, and an outcome that is unknown, are told at once with their stack', (t) => {
  const { lines, fail } = openLog(t);
  const bug = new Error('a bug');
  const unknown = new AppError('outcome_unknown', 'Something went wrong.');
  fail(bug, 'one');
  fail(unknown, 'two');
  assert.deepEqual(
    lines.map(({ message, members }) => [message, members['requestId'], members['error']]),
    [
      ['A request failed.', 'one', bug],
      ['A request failed.', 'two', unknown],
    ],
  );
});
