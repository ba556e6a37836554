import assert from 'node:assert/strict';
import { on } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { RequestClaims } from './request-claims.ts';

const requests = 50_000;

test('of a host that takes requests and a front that gives them up at the same time, one gets each', async () => {
  const memory = RequestClaims.newMemory();
  const claims = new RequestClaims(memory);
  for (let token = 0; token < requests; token += 1) claims.open(token);
  const file = new URL('request-claims.ts', import.meta.url).href;
  const code = `
    import { parentPort, workerData } from 'node:worker_threads';
    import { RequestClaims } from ${JSON.stringify(file)};
    const claims = new RequestClaims(workerData);
    parentPort.postMessage('begins');
    const taken = [];
    for (let token = 0; token < ${requests}; token += 1) if (claims.take(token)) taken.push(token);
    parentPort.postMessage(taken);`;
  const host = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    workerData: memory,
  });
  // One listener for both messages: they may come in the same turn of the event loop.
  const messages = on(host, 'message');
  await messages.next();
  const givenUp: number[] = [];
  for (let token = requests - 1; token >= 0; token -= 1) if (claims.giveUp(token)) givenUp.push(token);
  // What the code above posts last.
  const { value } = (await messages.next()) as { value: [number[]] };
  const [taken] = value;
  assert.equal(taken.length + givenUp.length, requests);
  assert.equal(new Set([...taken, ...givenUp]).size, requests);
});

test('a place is free again for a later request', () => {
  const claims = new RequestClaims(RequestClaims.newMemory());
  claims.open(1);
  assert.ok(claims.giveUp(1));
  assert.ok(!claims.take(1));
  claims.open(1);
  assert.ok(claims.take(1));
  assert.ok(!claims.giveUp(1));
});
