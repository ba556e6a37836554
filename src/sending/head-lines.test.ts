import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { Receiver } from '../../test/support/receiver.ts';
import { systemClock as clock } from '../base/clock.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import type { AttemptResult } from './attempt-result.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { GuardedAgent } from './guarded-agent.ts';
import { HeadLines } from './head-lines.ts';

const agent = new GuardedAgent({ policy: { allowHttp: true, allowed: loopbackRanges }, clock });
const parts = attemptParts({ agent, clock });
after(() => agent.stop());

async function attemptAt(bytes: string): Promise<AttemptResult> {
  await using receiver = await Receiver.open({ mode: { kind: 'raw', bytes } });
  return await sendAttempt(attemptRequest(receiver.url, { timeoutMs: 10_000 }), parts);
}

for (const [name, bytes] of Object.entries({
  'by line feeds alone': 'HTTP/1.1 200 OK\nX-Mine: yes\nContent-Length: 4\n\na\nb\n',
  'partly by line feeds alone': 'HTTP/1.1 200 OK\r\nX-Mine: yes\nContent-Length: 4\r\n\na\nb\n',
  'by line feeds alone, also of an interim answer':
    'HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nX-Mine: yes\nContent-Length: 4\n\na\nb\n',
}))
  test(`an answer whose lines end ${name} is read, and its body stays as it is`, async () => {
    const { kind, status, responseHeaders, responseBody } = await attemptAt(bytes);
    assert.deepEqual([kind, status], ['success', 200]);
    assert.equal(JSON.parse(responseHeaders)['x-mine'], 'yes');
    assert.equal(Buffer.from(responseBody).toString(), 'a\nb\n');
  });

test('lines are completed wherever the bytes of an answer are parted', () => {
  const head = 'HTTP/1.1 100 Go\n\nHTTP/1.1 200 OK\r\nA: b\n\n';
  const body = 'a\n\nHTTP/1.1 200 OK\n\n';
  const expected = 'HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n' + body;
  const whole = Buffer.from(head + body);
  for (let size = 1; size <= whole.length; size += 1) {
    const lines = new HeadLines();
    // The second time as the answer to another request on the same connection.
    for (let turn = 0; turn < 2; turn += 1) {
      lines.begin();
      const completed: Buffer[] = [];
      for (let at = 0; at < whole.length; at += size)
        completed.push(lines.complete(whole.subarray(at, at + size)));
      assert.equal(Buffer.concat(completed).toString(), expected, `${size} bytes at once`);
    }
  }
});

test('an answer that needs none is handed over without a copy', () => {
  const lines = new HeadLines();
  lines.begin();
  const chunk = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\n\n');
  assert.equal(lines.complete(chunk), chunk);
});
