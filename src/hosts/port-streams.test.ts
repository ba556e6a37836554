import assert from 'node:assert/strict';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { finished, pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { eventually } from '../../test/support/eventually.ts';
import { timerRounds } from '../../test/support/timer-rounds.ts';
import { PortReader, PortWriter } from './port-streams.ts';

function openPair(): { readonly writer: PortWriter; readonly reader: PortReader } {
  const { port1, port2 } = new MessageChannel();
  return { writer: new PortWriter(port1), reader: new PortReader(port2) };
}

/** Sizes around the buffers of streams and the window. */
const sizes = [0, 1, 16 * 1024, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 256 * 1024, 3_000_000];

test('what is written is read, whatever its size, and both ends close', async () => {
  for (const size of sizes) {
    const { writer, reader } = openPair();
    const bytes = Buffer.alloc(size, 'chancery ');
    const [received] = await Promise.all([buffer(reader), pipeline(Readable.from([bytes]), writer)]);
    assert.ok(received.equals(bytes), `${size} bytes`);
    await finished(reader);
    assert.ok(writer.destroyed);
  }
});

test('pieces are read in their order, and those of a larger buffer take nothing of the rest along', async () => {
  const { writer, reader } = openPair();
  const whole = Buffer.from('abcdefghij'.repeat(1_000));
  const reading = buffer(reader);
  for (let at = 0; at < whole.length; at += 7) writer.write(whole.subarray(at, at + 7));
  writer.end();
  assert.ok((await reading).equals(whole));
  assert.equal(whole.toString('utf8', 0, 10), 'abcdefghij');
});

test('a writer gets ahead of its reader by a window, and no more', async () => {
  const { writer, reader } = openPair();
  let written = 0;
  const piece = Buffer.alloc(32 * 1024);
  const pieces = async function* (): AsyncIterable<Buffer> {
    while (written < 20 * 1024 * 1024) {
      written += piece.length;
      yield piece;
      await timerRounds(0, 1);
    }
  };
  const writing = pipeline(pieces, writer);
  let before = -1;
  await eventually('it waits', async () => {
    await timerRounds(20, 2);
    const isStill = written === before;
    before = written;
    return isStill;
  });
  // The window, and what both streams buffer.
  assert.ok(written <= 512 * 1024, `${written} bytes`);
  assert.ok(writer.unsentBytes <= 512 * 1024);
  const received = await buffer(reader);
  await writing;
  assert.equal(received.length, written);
});

test('a reader that leaves ends its writer, and a writer that breaks off fails its reader', async () => {
  const left = openPair();
  left.writer.write('a');
  await once(left.reader, 'readable');
  left.reader.destroy();
  await once(left.writer, 'close');
  const broken = openPair();
  broken.writer.write('a');
  await once(broken.reader, 'readable');
  broken.writer.destroy();
  await assert.rejects(buffer(broken.reader), /ended the stream/);
});
