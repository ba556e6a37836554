import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'undici';
import { ConnectFailure } from '../network/open-socket.ts';
import { GuardedConnection } from './guarded-connection.ts';

test('a connection that fails in a way undici would repeat without end is given up after the second time', async () => {
  let connects = 0;
  const connection: GuardedConnection = new GuardedConnection(
    () =>
      new Client('http://127.0.0.1:9', {
        connect: (_options, callback) => {
          connects += 1;
          const hasShare = connection.beginConnect(0) !== null;
          const repeatable = Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' });
          setImmediate(callback, hasShare ? repeatable : new ConnectFailure('protocol', 'Enough.'), null);
        },
      }),
  );
  const error = await new Promise<Error>((resolve) => {
    const handler = { onRequestStart() {}, onResponseStart() {}, onResponseData() {}, onResponseEnd() {} };
    const onResponseError = (_controller: unknown, error: Error) => resolve(error);
    connection.dispatch({ method: 'POST', path: '/' }, { ...handler, onResponseError }, 1_000);
  });
  assert.ok(error instanceof ConnectFailure);
  assert.equal(connects, 3);
  connection.discard();
});
