import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import type { Sql } from '../../sql/sql.ts';
import { NodeHints } from './deliver-among-nodes.ts';

const fail = (message: string): void => assert.fail(message);
const logger = { debug: fail, info: fail, warn: fail, error: fail };

/** Notes the payloads of messages, and answers each when `release` is called. */
class HeldDatabase {
  readonly payloads: unknown[] = [];
  readonly #held: (() => void)[] = [];

  get(statement: Sql): Promise<undefined> {
    this.payloads.push(statement.values.at(-1));
    return new Promise((resolve) => this.#held.push(() => resolve(undefined)));
  }

  release(): void {
    for (const resolve of this.#held.splice(0)) resolve();
  }
}

const [one = '', two = '', three = ''] = ['1', '2', '3'].map((digit) => digit.repeat(15));

test('a hint is sent in the same turn, and those of the pause form one message', async () => {
  const database = new HeldDatabase();
  const hints = new NodeHints(database, logger);
  hints.add(one);
  assert.deepEqual(database.payloads, [one]);
  for (const id of [two, three, two]) hints.add(id);
  database.release();
  // The pause has begun, and no timer has run.
  await Promise.resolve();
  assert.deepEqual(database.payloads, [one]);
  await eventually('the next message', () => database.payloads.length > 1);
  assert.deepEqual(database.payloads, [one, `${two},${three}`]);
  database.release();
  await hints.stop();
});

test('after a pause in which nothing came, a hint is sent at once again', async () => {
  const database = new HeldDatabase();
  const hints = new NodeHints(database, logger);
  hints.add(one);
  database.release();
  await nextTurn();
  // It begins after the timer of the pause and is longer, so it ends after it.
  await setTimeout(100);
  hints.add(two);
  assert.deepEqual(database.payloads, [one, two]);
  database.release();
  await hints.stop();
});

test('a stop waits for the message under way, and drops what was not sent', async () => {
  const database = new HeldDatabase();
  const hints = new NodeHints(database, logger);
  hints.add(one);
  hints.add(two);
  let isStopped = false;
  const stopping = hints.stop().then(() => (isStopped = true));
  hints.add(three);
  await nextTurn();
  assert.equal(isStopped, false);
  database.release();
  await stopping;
  assert.deepEqual(database.payloads, [one]);
});
