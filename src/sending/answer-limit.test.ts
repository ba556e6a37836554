import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, test } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { Receiver } from '../../test/support/receiver.ts';
import { systemClock as clock } from '../base/clock.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import { AnswerLimit, answerStepsMax, AnswerTooLong } from './answer-limit.ts';
import type { AttemptResult } from './attempt-result.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { GuardedAgent } from './guarded-agent.ts';

const agent = new GuardedAgent({ policy: { allowHttp: true, allowed: loopbackRanges }, clock });
const parts = attemptParts({ agent, clock });
after(() => agent.stop());

/** Long enough that no working answer misses it on a slow machine, short enough to wait for. */
const timeoutMs = 3_000;

async function attemptAt(bytes: string): Promise<AttemptResult> {
  await using receiver = await Receiver.open({ mode: { kind: 'raw', bytes } });
  return await sendAttempt(attemptRequest(receiver.url, { timeoutMs }), parts);
}

const chunked = (status: number) => `HTTP/1.1 ${status} X\r\ntransfer-encoding: chunked\r\n\r\n`;
/** A header's line, an interim answer of two, a chunk of two, a trailer's line. */
const endless = {
  headers: (lines: number) => `HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(lines - 1)}`,
  'interim answers': (lines: number) => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(lines / 2),
  chunks: (lines: number, status = 200) => chunked(status) + '1\r\na\r\n'.repeat((lines - 4) / 2),
  trailers: (lines: number, status = 200) => `${chunked(status)}0\r\n${'a:\r\n'.repeat(lines - 4)}`,
};

// Nothing follows these lines, and the connection stays open: only their number can end the attempt before its deadline.
for (const kind of ['headers', 'interim answers'] as const) {
  test(`W-25: an answer is given up at its ${answerStepsMax}th line, before its ${kind} end`, async () => {
    const { status, cause } = await attemptAt(endless[kind](answerStepsMax));
    assert.deepEqual([status, cause], [null, 'The answer has too many headers or interim answers.']);
  });
}

for (const kind of ['chunks', 'trailers'] as const) {
  test(`W-25: an answer is not read beyond its ${answerStepsMax}th line of ${kind}; its status decides`, async () => {
    for (const [status, outcome] of [
      [200, 'success'],
      [500, 'status'],
    ] as const) {
      const result = await attemptAt(endless[kind](answerStepsMax, status));
      assert.deepEqual([result.kind, result.status], [outcome, status]);
    }
  });
}

test('an answer of many headers, interim answers, chunks and trailers is read whole', async () => {
  const lines = answerStepsMax / 8;
  const hints = endless['interim answers'](lines);
  const head = `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(lines)}transfer-encoding: chunked\r\n\r\n`;
  const bytes = `${hints}${head}${'1\r\na\r\n'.repeat(lines)}0\r\n${'a: b\r\n'.repeat(lines)}\r\n`;
  await using receiver = await Receiver.open({ mode: { kind: 'raw', bytes } });
  for (let round = 0; round < 20; round += 1) {
    const result = await sendAttempt(attemptRequest(receiver.url), parts);
    assert.deepEqual([result.kind, result.responseBody.length], ['success', lines]);
  }
  assert.equal(receiver.connectionCount, 1, 'each answer on a connection is counted anew');
});

test('W-25: framing without end around a small body is cut off; the status decides', async () => {
  const filler = `1;${'x'.repeat(1_048_576)}\r\na\r\n`;
  for (const [status, kind] of [
    [200, 'success'],
    [503, 'status'],
  ] as const) {
    const result = await attemptAt(chunked(status) + filler);
    assert.deepEqual([result.kind, result.status, result.responseBody.length], [kind, status, 0]);
  }
});

test('W-25: headers without end, however long they are, are cut off', async () => {
  const hint = `HTTP/1.1 103 Early Hints\r\nlink: ${'x'.repeat(8_192)}\r\n\r\n`;
  assert.equal((await attemptAt(hint.repeat(33))).kind, 'protocol');
});

test('W-31: what follows a whole answer beyond the limit is not the answer to the next request', async () => {
  const answer = (status: number) => `HTTP/1.1 ${status} X\r\ncontent-length: 2\r\n\r\nok`;
  const bytes = `${answer(500)}${'\r\n'.repeat(answerStepsMax)}${answer(200)}`;
  await using receiver = await Receiver.open({ mode: { kind: 'raw', bytes } });
  assert.equal((await sendAttempt(attemptRequest(receiver.url), parts)).status, 500);
  receiver.mode = { kind: 'status', status: 404 };
  assert.equal((await sendAttempt(attemptRequest(receiver.url), parts)).status, 404);
  assert.equal(receiver.connectionCount, 2);
});

test('W-25: a body that drips byte by byte is read so often and no more', async () => {
  // Each byte is sent when the one before was read, so that no two come in one read.
  await using server = createServer((socket) => socket.on('error', () => {}).pipe(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // The cast holds: a TCP server that is listening has such an address.
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1', () => socket.write('.'));
  const limit = new AnswerLimit();
  limit.begin();
  limit.guard(socket);
  let readCount = 0;
  socket.on('readable', () => {
    for (let chunk: unknown = socket.read(); chunk !== null; chunk = socket.read()) {
      readCount += 1;
      socket.write('.');
    }
  });
  const [error]: unknown[] = await once(socket, 'error').catch((cause: unknown) => [cause]);
  assert.ok(error instanceof AnswerTooLong);
  assert.equal(readCount, answerStepsMax);
});
