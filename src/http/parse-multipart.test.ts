import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { countTurns } from '../../test/support/count-turns.ts';
import { parseMultipart } from './parse-multipart.ts';

const boundary = 'b';

function formOf(values: readonly string[]): Buffer {
  const parts = values.map(
    (value, number) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="f${number}"\r\n\r\n${value}\r\n`,
  );
  return Buffer.from(`${parts.join('')}--${boundary}--\r\n`);
}

test('a form of many fields is read in several turns of the event loop, with few fields in each', async () => {
  const values = Array.from({ length: 1_000 }, (_, number) => `value ${number}`);
  const fieldsOfTurn = new Map<number, number>();
  const [entries] = await countTurns((turn) =>
    parseMultipart(Readable.from([formOf(values)]), `multipart/form-data; boundary=${boundary}`, {
      onBuffered: () => fieldsOfTurn.set(turn(), (fieldsOfTurn.get(turn()) ?? 0) + 1),
    }),
  );
  assert.deepEqual(
    entries,
    values.map((value, number) => [`f${number}`, value]),
  );
  const most = Math.max(...fieldsOfTurn.values());
  assert.ok(most <= 100, `${most} fields in a turn`);
});

test('a large value and many small ones are read whole, wherever the pieces of the body end', async () => {
  const values = ['x'.repeat(300_000), ...Array.from({ length: 200 }, (_, number) => `\r\n-- ${number}`)];
  const form = formOf(values);
  for (const size of [1_000, 2_047, 65_536, form.length]) {
    const pieces = Array.from({ length: Math.ceil(form.length / size) }, (_, at) =>
      form.subarray(at * size, (at + 1) * size),
    );
    const entries = await parseMultipart(Readable.from(pieces), `multipart/form-data; boundary=${boundary}`);
    assert.deepEqual(
      entries.map(([, value]) => value),
      values,
    );
  }
});
