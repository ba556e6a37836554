// Both engines: events are read from the log.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Accounts } from '../support/accounts.ts';
import type { EventStream } from '../support/event-stream.ts';
import { posts, RealtimeStage, withOptions } from '../support/realtime-stage.ts';
import { noteTrimmed } from '../../src/events/trimmed.ts';
import { sealPosition } from '../../src/secrets/seal-position.ts';
import { sql } from '../../src/sql/sql.ts';

/** A subscription to all posts that goes on behind a cursor. */
function behind(cursor: string, query: object = {}): string {
  return withOptions('posts/*', { query: { since: cursor, ...query } });
}

function lastCursor(stream: EventStream): string {
  const cursor: unknown = stream.messages.at(-1)?.data.cursor;
  assert.ok(typeof cursor === 'string' && cursor !== '');
  return cursor;
}

/** Returns a stage, and a cursor behind a first post. */
async function openWithCursor(
  t: TestContext,
  definition: object = {},
): Promise<{ stage: RealtimeStage; cursor: string; stream: EventStream }> {
  const stage = await RealtimeStage.open(t, definition);
  const stream = await stage.subscribed(behind(''));
  await stage.create('first');
  await stream.received(1);
  return { stage, stream, cursor: lastCursor(stream) };
}

test('a subscription with an empty cursor begins now, and every change has a cursor then', async (t) => {
  const { stage, stream } = await openWithCursor(t);
  const plain = await stage.subscribed('posts/*');
  await stage.create('second');
  await stream.received(2);
  await plain.received(1);
  assert.deepEqual(
    stream.messages.map(({ data }) => Object.keys(data)),
    [
      ['record', 'action', 'cursor'],
      ['record', 'action', 'cursor'],
    ],
  );
  assert.deepEqual(Object.keys(plain.messages[0]?.data), ['record', 'action']);
});

test('who was away is told what it has missed, in order, and then what comes, without a gap and nothing twice', async (t) => {
  const { stage, cursor } = await openWithCursor(t);
  const id = await stage.create('0');
  for (let n = 1; n < 150; n += 1) await stage.create(String(n));
  await stage.ok('DELETE', `${posts}/${id}`);
  let written = 150;
  const ending = new AbortController();
  const writing = (async () => {
    while (!ending.signal.aborted) await stage.create(String(written++));
  })();
  const streams = await Promise.all([cursor, cursor, cursor].map((one) => stage.subscribed(behind(one))));
  for (const stream of streams) await stream.receivedWhere(({ data }) => Number(data.record.title) >= 170);
  ending.abort();
  await writing;
  // The deleted one is told by its id alone, and is not made first.
  const expected = Array.from({ length: written }, (_, n) => `create ${n}`)
    .toSpliced(150, 0, `delete ${id}`)
    .slice(1);
  for (const stream of streams) assert.deepEqual((await stream.received(written)) && stream.told, expected);
  // From the middle of it, and from the end.
  const middle = streams[0]?.messages[99]?.data.cursor;
  const again = await stage.subscribed(behind(middle));
  await again.received(written - 100);
  assert.deepEqual(again.told, expected.slice(100));
  const end = await stage.subscribed(behind(lastCursor(again)));
  await stage.create('the end');
  await end.received(1);
  assert.deepEqual(end.told, ['create the end']);
});

test('who was away is told only what its caller may see, by the rule and the filter of now', async (t) => {
  const { stage, cursor } = await openWithCursor(t, { listRule: 'title != "closed" && secret = ""' });
  for (const title of ['a', 'closed', 'b']) await stage.create(title);
  await stage.create('a', { secret: 'hidden' });
  const id = await stage.create('gone', { secret: 'hidden' });
  await stage.ok('DELETE', `${posts}/${id}`);
  const all = await stage.subscribed(behind(cursor));
  const some = await stage.subscribed(behind(cursor, { filter: 'title = "b"', fields: 'title' }));
  await stage.create('z');
  await all.received(3);
  assert.deepEqual(all.told, ['create a', 'create b', 'create z']);
  assert.deepEqual((await some.received(1))[0]?.data.record, { title: 'b' });
});

test('what is not kept any more is told by one message, and then what comes', async (t) => {
  const { stage, stream, cursor } = await openWithCursor(t);
  await stage.create('second');
  await stream.received(2);
  await stage.service.withInstance('default', async ({ database }) => {
    const [row] = await database.tuples(sql`SELECT max(position) FROM ${database.names.table('$event')}`);
    await database.write((tx) =>
      noteTrimmed(tx, { position: Number(row?.[0]), time: '2026-11-20 09:35:20.114Z' }),
    );
  });
  const away = await stage.subscribed(behind(cursor));
  await away.received(1);
  const { data } = away.messages[0] ?? { data: {} };
  assert.deepEqual({ ...data, cursor: '' }, { record: {}, action: 'resync', cursor: '' });
  await stage.create('third');
  await away.received(2);
  assert.deepEqual(away.told, ['resync', 'create third']);
  const next = await stage.subscribed(behind(data.cursor));
  await next.received(1);
  assert.deepEqual(next.told, ['create third']);
});

test('a cursor of changes that a restore has lost is told by one message, and then what comes', async (t) => {
  const { stage } = await openWithCursor(t);
  const lost = await stage.service.withInstance('default', ({ sealer }) =>
    Promise.resolve(sealPosition(sealer, 10_000)),
  );
  const away = await stage.subscribed(behind(lost));
  await away.received(1);
  await stage.create('next');
  await away.received(2);
  assert.deepEqual(away.told, ['resync', 'create next']);
});

test('changes from before the fields of today are told as far as the records are as they were then', async (t) => {
  const { stage, cursor } = await openWithCursor(t);
  const kept = await stage.create('kept');
  const changed = await stage.create('changed');
  const { fields } = await stage.ok('GET', '/api/collections/posts');
  await stage.ok('PATCH', '/api/collections/posts', {
    fields: [...fields, { name: 'owner', type: 'text' }],
    listRule: 'owner = @request.auth.id',
  });
  const away = await stage.subscribed(behind(cursor));
  await away.received(2);
  assert.deepEqual(away.told, ['create kept', 'create changed']);
  await stage.ok('PATCH', `${posts}/${changed}`, { owner: 'somebody' });
  const later = await stage.subscribed(behind(cursor));
  // The first one is as it was; of the second nobody knows who its owner would have been.
  await later.received(2);
  assert.deepEqual(later.told, ['create kept', 'resync']);
  assert.ok(kept);
});

test('a cursor of another instance, and one that is none, are refused', async (t) => {
  const { stage, cursor } = await openWithCursor(t);
  const { directory } = stage.service.app.data;
  await directory.create('other', null);
  const accounts = new Accounts(stage.service);
  const { clientId } = await stage.connect();
  for (const wrong of ['x', `${cursor}x`, cursor.slice(1), '1']) {
    const answer = await stage.set(clientId, [behind(wrong)]);
    assert.equal(answer.status, 400, wrong);
    assert.deepEqual(Object.keys(answer.json.data.subscriptions), [behind(wrong)]);
    assert.match(answer.json.message, /cursor/);
  }
  const elsewhere = await accounts.ask('POST', '/i/other/api/realtime', {
    body: { clientId, subscriptions: [behind(cursor)] },
  });
  assert.equal(elsewhere.status, 404);
});
