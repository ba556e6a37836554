import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toChains, type StoredEvent } from './chains.ts';
import { checkDeletes } from './check-deletes.ts';
import type { CollectionName } from './collections.ts';
import type { Exchange, Operation } from './exchange.ts';

type Request = readonly [startedAt: number, endedAt: number, operation: Operation, status?: number];

const comment = deleteOf('comments', 'one');
const post = deleteOf('posts', 'a');
const comments: Operation = { kind: 'truncate', collection: 'comments' };

/** The comment is made, deleted, made anew and deleted. */
const log = [
  eventOf('create', 1),
  eventOf('delete', 10),
  eventOf('create', 11),
  eventOf('delete', 20),
  eventOf('delete', 20, 'posts'),
];

test('a delete that several can have made leaves each of them one that it can have made', () => {
  const kept = log.slice(0, -1);
  for (const other of [comments, deleteOf('comments', 'one', 1), post])
    assert.deepEqual(
      found(
        [
          [9, 12, other],
          [8, 30, comment],
        ],
        other === post ? [...kept.slice(0, 2), eventOf('delete', 10, 'posts'), ...kept.slice(2)] : kept,
      ),
      [],
    );
});

const nobody = 'comments/one: deleted by nobody at 4';

/** Who has asked for something else, beside the delete at 10. */
const others: Readonly<Record<string, readonly Request[]>> = {
  nobody: [],
  'a truncation before': [[12, 19, comments]],
  'a truncation behind': [[21, 30, comments]],
  'a truncation that was refused': [[19, 21, comments, 400]],
  'a truncation of others': [[19, 21, { kind: 'truncate', collection: 'authors' }]],
  'a delete before': [[12, 19, comment, 404]],
  'a delete that was refused': [[19, 21, comment, 503]],
  'a delete of its post before': [[12, 19, post]],
  'a delete of its post that was refused': [[19, 21, post, 412]],
  'a delete of another post': [[19, 21, deleteOf('posts', 'b')]],
};

for (const [name, requests] of Object.entries(others))
  test(`a delete by nobody is found, beside ${name}`, () => {
    assert.ok(found([[9, 12, comment], ...requests]).includes(nobody));
  });

test('a truncation deletes a record once, and a post that stays takes nothing with it', () => {
  assert.deepEqual(found([[0, 30, comments]]), [nobody]);
  const kept = [...log.slice(0, -1), eventOf('update', 20, 'posts')];
  assert.ok(
    found(
      [
        [9, 12, comment],
        [19, 21, post],
      ],
      kept,
    ).includes(nobody),
  );
});

test('a delete that was acknowledged is in the log at its time, and of the revision that it names', () => {
  const missing = 'comments/one: a delete that was acknowledged is not in the log';
  const first: Request = [9, 12, comment];
  assert.deepEqual(found([first, [12, 19, comment], [19, 21, comments]]), [missing]);
  assert.deepEqual(found([first, [19, 21, deleteOf('comments', 'one', 7)], [19, 21, post]]), [missing]);
});

test('whatever is known of the record is told', () => {
  const [text = ''] = reports(
    [
      [9, 12, comment],
      [15, 19, comments, 400],
      [19, 21, { kind: 'rename' }],
    ],
    log,
  );
  assert.deepEqual(
    text.split('\n').map((line) => line.trim().replace(/[:{].*/, '')),
    [
      'comments/one',
      '-19 to -19 ms',
      '-11 to -8 ms',
      '-10 to -10 ms',
      '-9 to -9 ms',
      '-5 to -1 ms',
      '0 to 0 ms',
      '0 to 0 ms',
    ],
  );
});

/** First lines. */
function found(requests: readonly Request[], events: readonly Event[] = log): readonly string[] {
  return reports(requests, events).map((text) => text.split('\n')[0] ?? '');
}

function reports(requests: readonly Request[], events: readonly Event[]): readonly string[] {
  const texts: string[] = [];
  const stored = events.map((event, index) => ({ ...event, position: index + 1 }));
  checkDeletes(toChains(stored, ['comments/one', 'posts/a']), requests.map(toExchange), (text) =>
    texts.push(text),
  );
  // That the delete of the post stands alone is no matter here.
  return texts.filter((text) => !text.startsWith('posts/'));
}

type Event = Omit<StoredEvent, 'position'>;

function eventOf(kind: string, at: number, collection: CollectionName = 'comments'): Event {
  const revision = kind === 'create' ? 1 : 2;
  const [record, values] = collection === 'posts' ? ['a', {}] : ['one', { post: 'a' }];
  return { id: '', kind: `record.${kind}`, collection, record, revision, at, values };
}

function deleteOf(collection: CollectionName, id: string, expected?: number): Operation {
  const intent = {
    kind: 'delete',
    collection,
    id,
    body: {},
    ...(expected !== undefined && { expected }),
  } as const;
  return { kind: 'write', intents: [intent] };
}

function toExchange([startedAt, endedAt, operation, status = 204]: Request): Exchange {
  const answer = { status, etag: '', isReplayed: false, json: undefined };
  return {
    ...answer,
    operation: { ...operation },
    isSuperuser: true,
    node: 0,
    startMs: 0,
    endMs: 0,
    startedAt,
    endedAt,
  };
}
