import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../base/clock.ts';
import type { LogMembers } from '../base/logger.ts';
import { abortedResult } from '../sending/attempt-result.ts';
import { noteOutcome, warnOfEndpoint, type WarningSource } from './endpoint-warnings.ts';

/** An instance whose time is moved by hand, and the lines it has logged. */
function openSource(id: string): {
  readonly source: WarningSource;
  readonly lines: LogMembers[];
  readonly passMs: (ms: number) => void;
} {
  let nowMs = 0;
  const lines: LogMembers[] = [];
  const fail = (message: string): void => assert.fail(message);
  const warn = (_: string, members: LogMembers = {}): void => void lines.push(members);
  const logger = { debug: fail, info: fail, error: fail, warn };
  const clock = { ...systemClock, monotonic: () => nowMs };
  return { source: { id, clock, logger }, lines, passMs: (ms) => (nowMs += ms) };
}

const endpoint = { id: 'endpoint', url: 'https://user.example:8443/path?key=secret' };

test('warnings of an endpoint within a minute are one line, and the next has the number of omitted ones', () => {
  const { source, lines, passMs } = openSource('throttled');
  const warn = (event: string): void =>
    warnOfEndpoint(source, endpoint, { kind: 'exhausted', event, cause: 'x' });
  for (const event of ['one', 'two', 'three']) warn(event);
  passMs(59_999);
  warn('four');
  passMs(1);
  warn('five');
  passMs(60_000);
  warn('six');
  assert.deepEqual(
    lines.map(({ event, omitted }) => [event, omitted]),
    [
      ['one', undefined],
      ['five', 3],
      ['six', undefined],
    ],
  );
  assert.equal(lines[0]?.['host'], 'user.example:8443');
});

test('lines of another kind, endpoint or instance are not omitted', () => {
  const { source, lines } = openSource('apart');
  const other = openSource('apart too');
  warnOfEndpoint(source, endpoint, { kind: 'exhausted', cause: 'x' });
  warnOfEndpoint(source, endpoint, { kind: 'paused', cause: 'x' });
  warnOfEndpoint(source, { ...endpoint, id: 'other' }, { kind: 'exhausted', cause: 'x' });
  warnOfEndpoint(other.source, endpoint, { kind: 'exhausted', cause: 'x' });
  assert.deepEqual([lines.length, other.lines.length], [3, 1]);
});

test('an endpoint is logged as failing once until it succeeds again, and aborted attempts do not count', () => {
  const { source, lines, passMs } = openSource('outcomes');
  const aborted = { ...abortedResult(0, 'Stopped.'), deliveryId: 'delivery' };
  const failed = { ...aborted, kind: 'status', status: 500, cause: 'Status 500.' } as const;
  const succeeded = { ...aborted, kind: 'success', status: 200, isSuccess: true } as const;
  for (const [event, result] of Object.entries({
    a: aborted,
    b: succeeded,
    c: aborted,
    d: failed,
    e: failed,
  })) {
    noteOutcome(source, endpoint, { event, result });
    passMs(60_000);
  }
  noteOutcome(source, endpoint, { event: 'f', result: succeeded });
  noteOutcome(source, endpoint, { event: 'g', result: failed });
  assert.deepEqual(
    lines.map(({ event }) => event),
    ['d', 'g'],
  );
});
