import assert from 'node:assert/strict';
import { connect as connectTcp, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Realtime, type RealtimeOptions } from '../../src/realtime/realtime.ts';
import type { Connection } from '../../src/realtime/client.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { posts, RealtimeStage, withOptions } from '../support/realtime-stage.ts';
import { alwaysSafe } from '../../src/events/log-horizon.ts';

test('R-01: an address may have so many connections, and an instance so many, and a place is free again when one is closed', async (t) => {
  const flags = {
    'realtime-connections': '4',
    'realtime-connections-per-address': '3',
    'trusted-proxies': '127.0.0.1/32',
  };
  const { service } = await RealtimeStage.open(t, {}, { flags });
  const from = (address: string): Promise<EventStream> =>
    EventStream.open(t, service.url, { 'x-forwarded-for': address });
  const status = async (address: string): Promise<string> => {
    const answer = await service.request('/api/realtime', { headers: { 'x-forwarded-for': address } });
    return `${answer.status} ${answer.headers.get('retry-after') ?? ''}`;
  };
  const streams = [await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.1')];
  assert.equal(await status('192.0.2.1'), '429 5');
  await from('192.0.2.2');
  assert.equal(await status('192.0.2.3'), '429 5');
  streams[0]?.close();
  await eventually('a free place', async () => (await status('192.0.2.3')) === '200 ');
  const other = await service.app.data.directory.create('other', null);
  assert.equal((await service.request(`/i/${other.slug}/api/realtime`)).status, 200);
});

test('R-01: an account may have so many connections, wherever they come from, and guests keep theirs', async (t) => {
  const flags = { 'realtime-connections-per-address': '103' };
  const { service } = await RealtimeStage.open(t, {}, { flags });
  const streams = await Promise.all(Array.from({ length: 101 }, () => EventStream.open(t, service.url)));
  const signIn = async ({ clientId }: EventStream): Promise<number> => {
    const body = { clientId, subscriptions: ['posts/*'] };
    return (await service.request('/api/realtime', { method: 'POST', token: true, body })).status;
  };
  const statuses: number[] = [];
  for (const stream of streams) statuses.push(await signIn(stream));
  assert.deepEqual([...new Set(statuses.slice(0, 100)), statuses[100]], [204, 429]);
  const [refusal] = service.log.filter(({ message }) => message.includes('rejected'));
  assert.match(String(refusal?.message), /too many of one account.*trusted-proxies/);
  // What is signed in does not count for its address any more.
  await Promise.all(Array.from({ length: 102 }, () => EventStream.open(t, service.url)));
  assert.equal((await service.request('/api/realtime')).status, 429);
  streams[0]?.close();
  const last = streams.at(-1);
  await eventually('a free place', async () => last !== undefined && (await signIn(last)) === 204);
});

/** Opens a connection over a socket that reads no more than the headers. */
async function openUnread(
  t: TestContext,
  stage: RealtimeStage,
): Promise<{ socket: Socket; clientId: string }> {
  const socket = connectTcp({ port: Number(new URL(stage.service.url).port), host: '127.0.0.1' });
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write('GET /api/realtime HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const text = await new Promise<string>((resolve) => {
    let read = '';
    socket.on('data', (piece) => {
      read += piece.toString();
      if (read.includes('}\n\n')) resolve(read);
    });
  });
  socket.removeAllListeners('data');
  socket.pause();
  return { socket, clientId: /"clientId":"(\w+)"/.exec(text)?.[1] ?? '' };
}

test('R-03: a client that does not read is disconnect off at a mebibyte, and holds up nobody', async (t) => {
  const stage = await RealtimeStage.open(t);
  const slow = await openUnread(t, stage);
  assert.equal((await stage.set(slow.clientId, ['posts/*'])).status, 204);
  const stream = await stage.subscribed('posts/*');
  const large = 'a'.repeat(1_000_000);
  const realtime = stage.service.app.local?.realtime;
  assert.ok(realtime !== undefined);
  // What the systems of both ends keep for a socket is read by nobody either.
  let written = 0;
  await eventually('it is disconnect off', async () => {
    await stage.create('large', { meta: { large } });
    written += 1;
    return realtime.connections === 1;
  });
  assert.ok(written < 40, `${written} MB`);
  await stream.received(written);
  // Many at once are no reason to disconnect off who reads them.
  const requests = Array.from({ length: 20 }, () => ({
    method: 'POST',
    url: posts,
    body: { title: 'one of many', meta: { large: large.slice(0, 300_000) } },
  }));
  await stage.ok('POST', '/api/batch', { requests });
  await stream.received(written + requests.length);
  assert.equal((await stage.set(slow.clientId, ['posts/*'])).status, 404);
});

test('a connection has so many subscriptions that ask a question of their own, and an instance so much text of all', async (t) => {
  const stage = await RealtimeStage.open(t);
  const asking = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, n) => withOptions('posts/*', { query: { filter: `title = "${n}"` } }));
  const { clientId } = await stage.connect();
  assert.equal((await stage.set(clientId, asking(100))).status, 204);
  const refused = await stage.set(clientId, asking(101));
  assert.equal(refused.status, 400);
  assert.match(refused.json.message, /At most 100 subscriptions/);
  await stage.create('7');
  const long = (n: number): readonly string[] =>
    Array.from({ length: 1_000 }, (_, index) => `${n} ${index} `.padEnd(2_500, 'x'));
  const streams = [];
  for (let n = 0; n < 13; n += 1) {
    const stream = await stage.connect();
    streams.push(stream);
    assert.equal((await stage.set(stream.clientId, long(n))).status, 204, String(n));
  }
  const last = await stage.connect();
  assert.equal((await stage.set(last.clientId, long(13))).status, 429);
  streams[0]?.close();
  await eventually(
    'there is room again',
    async () => (await stage.set(last.clientId, long(13))).status === 204,
  );
});

test('R-18: at a stop, clients are told to wait a moment, and their connections are closed at once', async (t) => {
  const stage = await RealtimeStage.open(t);
  const streams = await Promise.all(Array.from({ length: 20 }, () => stage.subscribed('posts/*')));
  await stage.service.stop();
  for (const stream of streams) {
    await eventually('it is closed', () => stream.isOver);
    const [, retry = '0'] = /\nretry:(\d+)\n\n$/.exec(stream.text) ?? [];
    assert.ok(Number(retry) >= 1_000 && Number(retry) <= 2_000, stream.text);
  }
  assert.deepEqual(
    stage.service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

/** A connection that notes what it is sent. */
class RecordingConnection implements Connection {
  readonly unsentBytes = 0;
  text = '';
  isEnded = false;

  write(text: string): void {
    this.text += text;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  end(): void {
    this.isEnded = true;
  }

  disconnect(): void {
    this.isEnded = true;
  }
}

test('something is sent now and then, and a connection without any subscription is closed after five minutes', async (t) => {
  const stage = await RealtimeStage.open(t);
  const { directory, instances } = stage.service.app.data;
  const [entry] = directory.all();
  assert.ok(entry);
  const time = { ms: 0 };
  const options: RealtimeOptions = {
    borrow: () => instances.borrow(entry),
    safeEnd: alwaysSafe,
    clock: { monotonic: () => time.ms },
    logger: { debug: noLine, info: noLine, warn: noLine, error: noLine },
    connectionsMax: 10,
    connectionsPerAddressMax: 10,
    heartbeatMs: 25,
  };
  const realtime = new Realtime(options);
  const [subscribed, idle] = [new RecordingConnection(), new RecordingConnection()];
  for (const connection of [subscribed, idle]) (await realtime.admit(entry.id, '127.0.0.1'))(connection);
  await eventually('both get a beat', () =>
    [subscribed, idle].every(({ text }) => text.endsWith(':\n\n:\n\n')),
  );
  const [, clientId = ''] = /"clientId":"(\w+)"/.exec(subscribed.text) ?? [];
  await stage.service.withInstance('default', (instance) =>
    realtime.subscribe(instance, {
      clientId,
      subscriptions: ['posts/*'],
      caller: { kind: 'guest' },
      authorization: undefined,
      address: '127.0.0.1',
    }),
  );
  time.ms = 5 * 60_000 - 1;
  const before = idle.text.length;
  await eventually('more beats', () => idle.text.length > before + 10);
  assert.equal(idle.isEnded, false);
  time.ms += 2;
  await eventually('the idle one is closed', () => idle.isEnded);
  assert.equal(subscribed.isEnded, false);
  await realtime.stop();
  assert.equal(subscribed.isEnded, true);
});

function noLine(): void {
  // Nothing is asserted of the log here.
}
