// Both engines: the states before and after a change are read from the log, and evaluated in SQL.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { type Account, Accounts } from '../support/accounts.ts';
import type { EventStream } from '../support/event-stream.ts';
import { posts, RealtimeStage, withOptions } from '../support/realtime-stage.ts';

const ownerOnly = '@request.auth.id != "" && owner = @request.auth.id';
const shown = "title = 'shown'";

function watching(filter = '', query: object = {}): string {
  return withOptions('posts/*', { query: { transitions: true, ...(filter && { filter }), ...query } });
}

const isEnd: Parameters<EventStream['receivedWhere']>[0] = ({ data }) => data.record.title === 'end';

interface Stage {
  readonly stage: RealtimeStage;
  readonly ann: Account;
  readonly subscribed: (token: true | string | undefined, topic: string) => Promise<EventStream>;
  readonly set: (id: string, body: object) => Promise<void>;
  /** Returns what a client got up to now. */
  readonly sentTo: (stream: EventStream) => Promise<readonly string[]>;
  /** Removes everything up to now from the log. */
  readonly trim: () => Promise<void>;
}

async function open(t: TestContext, definition: object = {}): Promise<Stage> {
  const stage = await RealtimeStage.open(t);
  const accounts = new Accounts(stage.service);
  const { id: collectionId } = await stage.ok('GET', '/api/collections/users');
  const { fields } = await stage.ok('GET', '/api/collections/posts');
  const more = [
    { name: 'owner', type: 'relation', collectionId },
    { name: 'note', type: 'text' },
  ];
  await stage.ok('PATCH', '/api/collections/posts', { fields: [...fields, ...more], ...definition });
  // Everybody gets it: with it, everything before it has come.
  await stage.ok('POST', '/api/collections', {
    name: 'marks',
    listRule: '',
    fields: [{ name: 'title', type: 'text' }],
  });
  const ann = await accounts.account('ann');
  let marks = 0;
  return {
    stage,
    ann,
    subscribed: async (token, topic) => {
      const stream = await stage.connect();
      const answer = await stage.set(stream.clientId, [topic, 'marks/*'], token);
      assert.equal(answer.status, 204, answer.text);
      return stream;
    },
    set: async (id, body) => void (await stage.ok('PATCH', `${posts}/${id}`, body)),
    sentTo: async (stream) => {
      const mark = `mark ${(marks += 1)}`;
      await stage.ok('POST', '/api/collections/marks/records', { title: mark });
      await stream.receivedWhere(({ data }) => data.record.title === mark);
      return stream.told.filter((one) => !one.startsWith('create mark'));
    },
    trim: () =>
      stage.service.withInstance('default', async ({ database }) => {
        const { names } = database;
        await database.write((tx) =>
          tx.run(sql`DELETE FROM ${names.table('$event')} WHERE ${names.instance.condition}`),
        );
      }),
  };
}

describe('a realtime subscription with transitions', () => {
  test('gets what enters and leaves its filter, and others get what they got before', async (t) => {
    const { stage, subscribed, set, sentTo } = await open(t);
    const stream = await subscribed(undefined, watching(shown, { fields: 'title,note' }));
    const plain = await subscribed(undefined, withOptions('posts/*', { query: { filter: shown } }));
    const id = await stage.create('shown', { note: '1' });
    await set(id, { note: '2' });
    await set(id, { title: 'x', note: '3' });
    await set(id, { note: '4' });
    await set(id, { title: 'shown', note: '5' });
    await stage.ok('DELETE', `${posts}/${id}`);
    const other = await stage.create('other');
    await set(other, { title: 'another' });
    await stage.ok('DELETE', `${posts}/${other}`);
    await sentTo(stream);
    const sent = stream.messages.slice(0, -1).map(({ data }) => [data.action, data.record.note]);
    assert.deepEqual(sent, [
      ['create', '1'],
      ['update', '2'],
      // The last state that matched.
      ['leave', '2'],
      ['enter', '5'],
      ['delete', '5'],
    ]);
    assert.deepEqual(await sentTo(plain), ['create shown', 'update shown', 'update shown', 'delete shown']);
    assert.deepEqual(Object.keys(stream.messages[2]?.data), ['record', 'action']);
  });

  test('gets what its caller may view no more in the last state that it could see, without hidden fields', async (t) => {
    const rule = { listRule: ownerOnly, viewRule: ownerOnly };
    const { stage, ann, subscribed, set, sentTo } = await open(t, rule);
    const guest = await subscribed(undefined, watching());
    const all = await subscribed(ann.token, watching());
    const id = await stage.create('mine', { owner: ann.id, secret: 'one' });
    const single = await subscribed(ann.token, withOptions(`posts/${id}`, { query: { transitions: true } }));
    await set(id, { owner: '', title: 'theirs', secret: 'two' });
    await set(id, { title: 'still theirs' });
    await set(id, { owner: ann.id, title: 'mine again' });
    assert.deepEqual(await sentTo(all), ['create mine', 'leave mine', 'enter mine again']);
    assert.deepEqual(await sentTo(single), ['leave mine', 'enter mine again']);
    assert.deepEqual(await sentTo(guest), []);
    assert.doesNotMatch(all.text + single.text, /theirs|secret|one|two/);
  });

  test('whose caller could never view a record learns nothing of it', async (t) => {
    const rule = '@request.auth.verified = true && secret = ""';
    const { stage, ann, subscribed, set, sentTo, trim } = await open(t, { listRule: rule });
    const stream = await subscribed(ann.token, watching());
    const locked = await stage.create('locked', { secret: 'yes' });
    await set(locked, { title: 'hidden', secret: '' });
    await set(locked, { secret: 'again' });
    assert.deepEqual(await sentTo(stream), []);
    // Superusers only: nothing at all, also where the state before is unknown.
    await stage.ok('PATCH', '/api/collections/posts', { listRule: null });
    await trim();
    await set(locked, { title: 'other' });
    assert.deepEqual(await sentTo(stream), []);
    assert.ok(!stream.text.includes(locked));
  });

  test('gets a leave by the id where the state before is not in the log, and resync where it may not learn the id', async (t) => {
    const { stage, ann, subscribed, set, sentTo, trim } = await open(t, {
      listRule: `${ownerOnly} || title = "shown"`,
    });
    const filtered = await subscribed(undefined, watching(shown));
    const owners = await subscribed(ann.token, watching('note = ""'));
    const superuser = await subscribed(true, watching('note = ""'));
    const [one, two] = [await stage.create('shown', { owner: ann.id }), await stage.create('other')];
    await trim();
    await set(one, { title: 'x', note: '1' });
    await set(two, { title: 'y', note: '1' });
    await sentTo(filtered);
    const actions = (stream: EventStream): unknown[] =>
      stream.messages.flatMap(({ data }) =>
        ['create', 'enter'].includes(data.action) ? [] : [[data.action, data.record]],
      );
    assert.deepEqual(actions(filtered), [
      ['resync', {}],
      ['resync', {}],
    ]);
    await sentTo(owners);
    // The one is still its own: only the filter is false of it.
    assert.deepEqual(actions(owners), [
      ['leave', { id: one }],
      ['resync', {}],
    ]);
    await sentTo(superuser);
    assert.deepEqual(actions(superuser), [
      ['leave', { id: one }],
      ['leave', { id: two }],
    ]);
    await trim();
    await set(one, { title: 'shown', note: '' });
    assert.equal((await sentTo(filtered)).at(-1), 'enter shown');
  });

  test('that comes back gets an enter for what matches now, and a leave by the id for what does not', async (t) => {
    const { stage, ann, subscribed, set } = await open(t, {
      listRule: `${ownerOnly} && secret = ""`,
    });
    const mine = { owner: ann.id };
    const ids = {
      left: await stage.create('left', mine),
      leftLater: await stage.create('leftLater', mine),
      deleted: await stage.create('deleted', mine),
      back: await stage.create('back', mine),
      entered: await stage.create('entered'),
      never: await stage.create('never'),
      briefly: await stage.create('briefly'),
    };
    const first = await subscribed(ann.token, watching('', { since: '' }));
    await stage.create('last', mine);
    await first.receivedWhere(({ data }) => data.record.title === 'last');
    const cursor = first.messages[0]?.data.cursor;
    await set(ids.left, { owner: '', note: 'n' });
    await set(ids.leftLater, { note: 'n' });
    await set(ids.leftLater, { secret: 'x' });
    await set(ids.leftLater, { note: 'm' });
    await set(ids.deleted, { owner: '' });
    await stage.ok('DELETE', `${posts}/${ids.deleted}`);
    await set(ids.back, { owner: '' });
    await set(ids.back, { owner: ann.id, note: 'now' });
    await set(ids.entered, { owner: ann.id });
    await set(ids.entered, { note: 'later' });
    await set(ids.never, { note: 'later' });
    await set(ids.briefly, { owner: ann.id });
    await set(ids.briefly, { owner: '', note: 'private' });
    const again = await subscribed(ann.token, watching('', { since: cursor }));
    await stage.create('end', { owner: ann.id, note: 'n' });
    await again.receivedWhere(isEnd);
    const sent = again.messages
      .slice(0, -1)
      .map(({ data }) => [data.action, data.record.id, data.record.note]);
    assert.deepEqual(sent, [
      ['leave', ids.left, undefined],
      ['leave', ids.leftLater, undefined],
      ['leave', ids.deleted, undefined],
      ['enter', ids.back, 'now'],
      ['enter', ids.entered, 'later'],
      ['update', ids.entered, 'later'],
      ['leave', ids.briefly, undefined],
    ]);
    assert.doesNotMatch(again.text, /private/);
    assert.ok(again.messages.slice(0, -1).every(({ data }) => typeof data.cursor === 'string'));
    const superuser = await subscribed(true, watching("note = 'n'", { since: cursor }));
    await superuser.receivedWhere(isEnd);
    assert.deepEqual(superuser.told, [
      'enter left',
      'enter leftLater',
      'update leftLater',
      'leave leftLater',
      'create end',
    ]);
  });

  test('that comes back after the state before was removed learns no id that it may not', async (t) => {
    const { stage, ann, subscribed, set } = await open(t, { listRule: ownerOnly });
    const [one, two] = [await stage.create('one', { owner: ann.id }), await stage.create('two')];
    const first = await subscribed(ann.token, watching('', { since: '' }));
    await stage.create('last', { owner: ann.id });
    await first.receivedWhere(({ data }) => data.record.title === 'last');
    const cursor = first.messages[0]?.data.cursor;
    const { items } = await stage.ok('GET', '/api/webhooks/events?sort=created');
    for (const { id, record } of items)
      if ([one, two].includes(record)) await stage.ok('DELETE', `/api/webhooks/events/${id}/body`);
    await set(one, { owner: '' });
    await set(two, { note: 'x' });
    const again = await subscribed(ann.token, watching('', { since: cursor }));
    await stage.create('end', { owner: ann.id });
    await again.receivedWhere(isEnd);
    assert.deepEqual(again.told, ['resync', 'resync', 'create end']);
    assert.ok(!again.text.includes(one) && !again.text.includes(two));
    // A record that it may view is left by the id, whatever the filter.
    await set(one, { owner: ann.id });
    const filtered = await subscribed(ann.token, watching("title = 'end'", { since: cursor }));
    await filtered.receivedWhere(isEnd);
    assert.deepEqual(filtered.told, [`leave ${one}`, 'resync', 'create end']);
  });

  test('shows the address of an account as its state before does', async (t) => {
    const { stage, ann, subscribed, sentTo } = await open(t);
    const accounts = new Accounts(stage.service);
    await accounts.define({ listRule: "name != 'gone'", viewRule: '' });
    const topic = withOptions('users/*', { query: { transitions: true } });
    const stream = await subscribed(undefined, topic);
    await accounts.update(ann.id, { name: 'gone', emailVisibility: true }, true);
    await accounts.update(ann.id, { name: 'ann' }, true);
    await accounts.update(ann.id, { name: 'gone', emailVisibility: false }, true);
    await sentTo(stream);
    const sent = stream.messages
      .slice(0, -1)
      .map(({ data }) => [data.action, data.record.name, data.record.email]);
    assert.deepEqual(sent, [
      ['leave', 'ann', undefined],
      ['enter', 'ann', ann.email],
      ['leave', 'ann', ann.email],
    ]);
  });

  test('is refused with another value, and counted with those that have a filter', async (t) => {
    const { stage } = await open(t);
    const { clientId } = await stage.connect();
    const wrong = await stage.set(clientId, [withOptions('posts/*', { query: { transitions: 'all' } })]);
    assert.equal(wrong.status, 400, wrong.text);
    assert.match(wrong.json.message, /transitions/);
    const topics = Array.from({ length: 101 }, (_, n) =>
      withOptions(`posts/${n}`, { query: { transitions: 'true' } }),
    );
    assert.equal((await stage.set(clientId, topics)).status, 400);
    assert.equal((await stage.set(clientId, topics.slice(1))).status, 204);
  });
});
