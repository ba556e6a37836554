// Both engines: rows are read in other ways.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { AppParts } from '../../src/app.ts';
import type { Ledger } from '../../src/base/ledger.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { eventually } from '../support/eventually.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { startService, type TestService } from '../support/service.ts';

const mebibyte = 1024 * 1024;
const max = 64 * mebibyte;
const recordBytes = 2 * mebibyte;
const listed = 6;
const list = `/api/collections/posts/records?perPage=${listed}`;

async function setUp(
  t: TestContext,
  parts: AppParts = {},
): Promise<{ readonly service: TestService; readonly memory: Ledger }> {
  const service = await startService(t, {
    parts,
    flags: { 'answer-memory': '64', 'query-timeout': '10', 'trusted-proxies': '127.0.0.1' },
  });
  await service.app.data.directory.create('other', null);
  const open = { listRule: '', viewRule: '', createRule: '' };
  const fields = [{ name: 'text', type: 'text', max: 5_000_000 }];
  for (const slug of ['default', 'other'])
    await service.withInstance(slug, async (instance) => {
      const definition = { name: 'posts', type: 'base', ...open, fields };
      await createCollection({ ...instance, now: instance.clock.now() }, definition);
    });
  for (const [prefix, count] of [
    ['', listed],
    ['/i/other', 1],
  ] as const)
    for (let number = 0; number < count; number += 1) {
      const body = { text: 'x'.repeat(recordBytes) };
      const made = await service.request(`${prefix}/api/collections/posts/records`, { method: 'POST', body });
      assert.equal(made.status, 201, made.text.slice(0, 200));
    }
  return { service, memory: service.app.server.memory };
}

/** A client that asks and reads nothing. */
function askWithoutReading(t: TestContext, service: TestService, path: string): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => socket.destroy());
  t.after(() => socket.destroy());
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  return socket;
}

test('answers that nobody reads take no more memory than is documented, others are served, and all of it is given back', async (t) => {
  const { service, memory } = await setUp(t);
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, memory.amount)), 1);
  t.after(() => clearInterval(watch));
  const sockets = Array.from({ length: 40 }, () => askWithoutReading(t, service, list));
  await eventually('there is no more memory', () => memory.waiting > 0 || memory.amount > max / 2);
  for (let round = 0; round < 3; round += 1) {
    const other = await service.request('/i/other/api/collections/posts/records');
    assert.equal(other.status, 200, other.text.slice(0, 200));
    assert.equal(other.json.items[0].text.length, recordBytes);
  }
  const own = await service.request(list, { headers: { 'x-forwarded-for': '192.0.2.1' } });
  assert.equal(own.status, 200, own.text.slice(0, 200));
  assert.ok(most <= max, `${most} bytes`);
  assert.ok(most > max / 4, `${most} bytes: one instance may have all`);
  for (const socket of sockets) socket.destroy();
  await eventually('all of it is given back', () => memory.amount === 0 && memory.waiting === 0, 15_000);
});

test('rows are not read before there is memory for them', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const { service, memory } = await setUp(t, { wrapDatabase });
  let reads = 0;
  for (const database of databases)
    database.searchFault = ({ text }) => {
      if (text.includes('posts')) reads += 1;
      return undefined;
    };
  const held = memory.tryToHold({ instance: 'elsewhere', address: '' }, max);
  assert.ok(held !== undefined);
  const asked = service.request(list);
  await eventually('it waits', () => memory.waiting === 1);
  assert.equal(reads, 0);
  memory.release(held);
  assert.equal((await asked).status, 200);
  assert.ok(reads > 0);
});

test('a client that reads slowly gets all of its answer, of which less and less is in memory', async (t) => {
  const { service, memory } = await setUp(t);
  const socket = askWithoutReading(t, service, list);
  await eventually('it is held', () => memory.amount >= listed * recordBytes * 0.5);
  const amounts: number[] = [];
  let bytes = 0;
  socket.on('data', (piece: Buffer) => {
    bytes += piece.length;
    amounts.push(memory.amount);
  });
  socket.resume();
  await eventually('all of it has come', () => bytes > listed * recordBytes, 15_000);
  await eventually('nothing is held any more', () => memory.amount === 0);
  assert.ok(
    amounts.every((amount, index) => index === 0 || amount <= (amounts[index - 1] ?? 0)),
    'it never grows again',
  );
});
