import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startServedFiles } from '../support/served-files.ts';
import { RawConnection, rawRequest, sendRaw } from '../support/raw-http.ts';

/** More than the buffers of the system take between a server and its client. */
const large = Buffer.alloc(24 * 1024 * 1024, 'abcdefgh');

/** How often this process has the file open. */
function openCount(name: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).includes(name);
    } catch {
      return false;
    }
  }).length;
}

test('a client that goes away in the middle leaves no file open', async (t) => {
  const { service, id, put } = await startServedFiles(t);
  await put('large_1.txt', large);
  const path = `/api/files/docs/${id}/large_1.txt`;
  for (const range of ['bytes=0-', 'bytes=0-9000000,9000002-']) {
    const clients = Array.from({ length: 5 }, () => RawConnection.open(t, service.url));
    for (const client of clients) {
      client.socket.pause();
      client.send(rawRequest(`GET ${path}`, { range }));
    }
    await eventually('all are sent', () => openCount('large_1.txt') === 5);
    for (const { socket } of clients) socket.destroy();
    await eventually('all are closed', () => openCount('large_1.txt') === 0);
  }
  const head = await fetch(service.url + path, { method: 'HEAD' });
  assert.equal(head.headers.get('content-length'), String(large.length));
  await eventually('a HEAD leaves nothing open', () => openCount('large_1.txt') === 0);
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('F-23 a file that is removed while it is sent is sent to its end, and not found after that', async (t) => {
  const { service, id, collectionId, put, get } = await startServedFiles(t);
  await put('large_2.txt', large);
  const answer = await fetch(`${service.url}/api/files/docs/${id}/large_2.txt`);
  const reader = answer.body?.getReader();
  assert.ok(reader);
  const parts = [(await reader.read()).value];
  await service.withInstance('default', ({ files }) =>
    files.store.remove(`${collectionId}/${id}/large_2.txt`),
  );
  assert.equal((await get('large_2.txt')).status, 404);
  for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value);
  assert.ok(large.equals(Buffer.concat(parts.map((part) => part ?? Buffer.alloc(0)))));
});

test('a stop ends files that are being sent', async (t) => {
  const { service, id, put } = await startServedFiles(t);
  await put('large_3.txt', large);
  const client = RawConnection.open(t, service.url);
  client.socket.pause();
  client.send(rawRequest(`GET /api/files/docs/${id}/large_3.txt`));
  await eventually('it is sent', () => openCount('large_3.txt') === 1);
  const stopped = service.stop();
  client.socket.destroy();
  await stopped;
  await eventually('it is closed', () => openCount('large_3.txt') === 0);
});

test('requests that a client sends without waiting are answered in their order', async (t) => {
  const { service, id, put } = await startServedFiles(t);
  await put('a.txt', 'x'.repeat(200_000));
  const client = RawConnection.open(t, service.url);
  const path = `/api/files/docs/${id}/a.txt`;
  const requests = ['bytes=0-99999', 'bytes=5-6', 'bytes=-1'].map((range) =>
    rawRequest(`GET ${path}`, { range }),
  );
  client.send(requests.join(''));
  const answers = await client.waitForAnswers(3);
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.length]),
    [
      [206, 100_000],
      [206, 2],
      [206, 1],
    ],
  );
  const { status } = await sendRaw(t, service.url, rawRequest(`GET ${path}x`));
  assert.equal(status, 404);
});
