import assert from 'node:assert/strict';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { FailedAnswer } from '../http/error-response.ts';
import { closeAnswer, fromAnswerMessage } from './message-answers.ts';
import { PortWriter } from './port-streams.ts';

const head = { status: 200, headers: { 'x-a': 'b' } };

test('a message stands for the answer that it was made of', async () => {
  const { port1, port2: port } = new MessageChannel();
  new PortWriter(port1).end('abc');
  const streamed = fromAnswerMessage({ kind: 'stream', length: 3, isFile: true, port, ...head });
  assert.ok(streamed.content?.body instanceof Readable);
  assert.equal(await text(streamed.content.body), 'abc');
  assert.equal(streamed.content.isFile, true);
  const whole = fromAnswerMessage({ kind: 'text', json: '{}', ...head });
  assert.deepEqual(whole, { ...head, json: '{}' });
  const error = { status: 404, body: '{}', retryAfter: undefined, isOurs: false };
  assert.throws(() => fromAnswerMessage({ kind: 'failed', error }), FailedAnswer);
});

test('an answer that nobody waits for any more ends for its host as well', async () => {
  const { port1, port2: port } = new MessageChannel();
  const writer = new PortWriter(port1);
  writer.write('a');
  closeAnswer({ kind: 'stream', length: 1, isFile: false, port, ...head });
  await once(writer, 'close');
  assert.ok(writer.destroyed);
});
