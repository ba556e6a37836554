// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { type Account, Accounts } from '../support/accounts.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { withOptions } from '../support/realtime-stage.ts';
import { Receiver } from '../support/receiver.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const notes = '/api/collections/notes/records';
const endpoints = '/api/webhooks/endpoints';
/** Who is in the team of a note may see it, unless it is closed. */
const seen = 'isClosed = false && team.members.id ?= @request.auth.id';

interface Stage {
  readonly service: WebhookService;
  readonly ann: Account;
  readonly team: string;
  /** The note that everything is about. */
  readonly note: string;
}

/** What happens to a note, and how it is told afterwards to who has not been told before: actions, and the last data. */
interface Scenario {
  readonly name: string;
  readonly happens: (stage: Stage) => Promise<void>;
  /** What a resume tells. */
  readonly resumed: readonly string[];
  /** What a replay, the signed feed and a backlog tell. */
  readonly sent: readonly string[];
  /** Whether a retry of the first delivery is sent. */
  readonly isRetried: boolean;
  /** What all of them tell of the note in the end; absent for nothing. */
  readonly last?: Readonly<Record<string, unknown>>;
  /** What none of them tells. */
  readonly never: readonly string[];
}

const patch = ({ service, note }: Stage, body: object): Promise<Json> =>
  service.call('PATCH', `${notes}/${note}`, { body });

const scenarios: readonly Scenario[] = [
  {
    name: 'nothing has happened',
    happens: () => Promise.resolve(),
    resumed: ['create'],
    sent: ['record.create'],
    isRetried: true,
    last: { title: 'before', mark: 'old mark' },
    never: [],
  },
  {
    name: 'the text was redacted',
    happens: async (stage) => {
      await patch(stage, { title: 'between' });
      await patch(stage, { title: 'redacted' });
    },
    resumed: ['create', 'update'],
    sent: ['record.create', 'record.update', 'record.update'],
    isRetried: true,
    last: { title: 'redacted', mark: 'old mark' },
    never: ['before', 'between'],
  },
  {
    name: 'the record was hidden',
    happens: (stage) => patch(stage, { isClosed: true }),
    resumed: [],
    sent: [],
    isRetried: false,
    never: ['before', 'old mark'],
  },
  {
    name: 'the record was hidden for a while',
    happens: async (stage) => {
      await patch(stage, { isClosed: true, title: 'closed' });
      await patch(stage, { isClosed: false, title: 'open' });
    },
    resumed: ['create', 'update'],
    sent: ['record.create', 'record.update'],
    isRetried: true,
    last: { title: 'open', mark: 'old mark' },
    never: ['before', 'closed'],
  },
  {
    name: 'the record was deleted',
    happens: async ({ service, note }) => {
      await service.call('DELETE', `${notes}/${note}`, { status: 204 });
    },
    resumed: ['delete'],
    sent: ['record.delete'],
    isRetried: false,
    last: {},
    never: ['before', 'old mark'],
  },
  {
    name: 'the record was hidden, and then deleted',
    happens: async (stage) => {
      await patch(stage, { isClosed: true });
      await stage.service.call('DELETE', `${notes}/${stage.note}`, { status: 204 });
    },
    resumed: [],
    sent: [],
    isRetried: false,
    never: ['before', 'old mark'],
  },
  {
    name: 'the rules were changed',
    happens: ({ service }) =>
      service.call('PATCH', '/api/collections/notes', { body: { listRule: null, viewRule: null } }),
    resumed: [],
    sent: [],
    isRetried: false,
    never: ['before', 'old mark'],
  },
  {
    name: 'the membership was lost',
    happens: ({ service, team }) =>
      service.call('PATCH', `/api/collections/teams/records/${team}`, { body: { members: [] } }),
    resumed: [],
    sent: [],
    isRetried: false,
    never: ['before', 'old mark'],
  },
  {
    name: 'a field was hidden',
    happens: async (stage) => {
      const { service } = stage;
      await patch(stage, { mark: 'new mark' });
      const { fields } = await service.call('GET', '/api/collections/notes');
      const changed = listOf(fields).map((field) =>
        field.name === 'mark' ? { ...field, hidden: true } : field,
      );
      await service.call('PATCH', '/api/collections/notes', { body: { fields: changed } });
    },
    resumed: ['create', 'update'],
    sent: ['record.create', 'record.update'],
    isRetried: true,
    last: { title: 'before' },
    never: ['old mark', 'new mark', '"mark"'],
  },
];

async function open(t: TestContext): Promise<Omit<Stage, 'note'>> {
  const service = await startWebhookService(t);
  const accounts = new Accounts(service);
  await service.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: false } } });
  await accounts.define({ webhooks: { enabled: true }, createRule: '' });
  const ann = await accounts.account('ann');
  const { id: users } = await service.call('GET', '/api/collections/users');
  const members = { name: 'members', type: 'relation', collectionId: users, maxSelect: 9 };
  const teams = await service.call('POST', '/api/collections', {
    body: { name: 'teams', type: 'base', fields: [members] },
  });
  const { id: team } = await service.call('POST', '/api/collections/teams/records', {
    body: { members: [ann.id] },
  });
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'mark', type: 'text' },
    { name: 'isClosed', type: 'bool' },
    { name: 'team', type: 'relation', collectionId: teams.id },
  ];
  const body = { name: 'notes', type: 'base', fields, listRule: seen, viewRule: seen };
  await service.call('POST', '/api/collections', { body });
  return { service, ann, team };
}

/** Puts what was told of a note into the form of a scenario. */
function shown(data: Json): Readonly<Record<string, unknown>> {
  const { title, mark } = data;
  return { ...(title !== undefined && { title }), ...(mark !== undefined && { mark }) };
}

function assertTold(
  told: readonly (readonly [action: string, data: Json])[],
  way: string,
  one: Scenario,
): void {
  const expected = way === 'resume' ? one.resumed : one.sent;
  assert.deepEqual(
    told.map(([action]) => action),
    expected,
    way,
  );
  for (const text of one.never) assert.ok(!JSON.stringify(told).includes(text), `${way} tells ${text}`);
  if (one.last !== undefined) assert.deepEqual(shown(told.at(-1)?.[1]), one.last, way);
}

for (const scenario of scenarios)
  test(`what lies back is told as it may be seen now, when ${scenario.name}`, async (t) => {
    const { service, ann, team } = await open(t);
    const down = await Receiver.open({ mode: { kind: 'status', status: 500 } });
    t.after(() => down.close());
    const own = async (settings: object): Promise<string> => {
      const body = { url: service.receiver.url, collections: ['notes'], order: 'strict', ...settings };
      const made = await service.request(endpoints, { method: 'POST', token: ann.token, body });
      assert.equal(made.status, 201, made.text);
      return made.json.id;
    };
    const replayed = await own({});
    const paused = await own({ status: 'paused', url: service.receiver.urlAt('127.0.0.1', '/drained') });
    await own({ url: down.url, order: 'none', schedule: [] });
    const { id: all } = await service.addEndpoint({
      url: service.receiver.urlAt('127.0.0.1', '/all'),
      collections: ['notes'],
    });
    const stream = await EventStream.open(t, service.url);
    const follow = async (one: EventStream, since: string, token: string): Promise<void> => {
      const body = { clientId: one.clientId, subscriptions: [withOptions('notes/*', { query: { since } })] };
      const answer = await service.request('/api/realtime', { method: 'POST', token, body });
      assert.equal(answer.status, 204, answer.text);
    };
    await follow(stream, '', ann.token);
    const add = async (title: string, more: object = {}): Promise<string> =>
      (await service.call('POST', notes, { body: { title, team, ...more }, status: 201 })).id;
    await add('first');
    const [begin] = await stream.received(1);
    const note = await add('before', { mark: 'old mark' });
    const failed = await eventually('the first deliveries are over', async () => {
      const its = await service.deliveries("status = 'exhausted'");
      return service.receiver.requests.length >= 4 && its.length === 2 ? its : undefined;
    });
    const stage: Stage = { service, ann, team, note };
    await scenario.happens(stage);
    const settled = (): Promise<unknown> =>
      eventually('nothing is on its way', async () => {
        const filter = `status = 'pending' && endpoint != '${paused}'`;
        return (await service.deliveries(filter)).length === 0;
      });
    await settled();
    const ofNote = (path: string, from: number): readonly (readonly [string, Json])[] =>
      service.receiver.requests.slice(from).flatMap((request) => {
        const { event, data } = JSON.parse(request.body.toString());
        return request.path === path && data.id === note ? [[event, data] as const] : [];
      });

    // A resume. What a superuser makes says that everything before it was told.
    const away = await EventStream.open(t, service.url);
    await follow(away, begin?.data.cursor, ann.token);
    const superuser = await EventStream.open(t, service.url);
    await follow(superuser, begin?.data.cursor, service.superuser.token);
    await eventually('the superuser is told of what has happened', () => superuser.messages.length > 0);
    assert.ok(superuser.messages.some(({ data }) => data.record.title === 'before'));
    const resumed = (): readonly (readonly [string, Json])[] =>
      away.messages.flatMap(({ data }) =>
        data.record.id === note ? [[String(data.action), data.record] as const] : [],
      );
    await eventually('the resume is told', () => resumed().length >= scenario.resumed.length);
    assertTold(resumed(), 'resume', scenario);

    // A replay by the account; one of an endpoint without owner sends the same bytes again.
    const replay = async (id: string, token: string): Promise<number> => {
      const from = service.receiver.requests.length;
      const path = `${endpoints}/${id}/replay`;
      const begun = await service.request(path, { method: 'POST', token, body: { scope: 'all' } });
      assert.equal(begun.status, 200, begun.text);
      await eventually('the replay is over', async () => {
        const { state, pending } = await service.call('GET', `/api/webhooks/replays/${begun.json.id}`);
        return state === 'done' && pending === 0;
      });
      return from;
    };
    const before = ofNote('/all', 0);
    assert.deepEqual(ofNote('/all', await replay(all, service.superuser.token)), before);
    const replayedFrom = await replay(replayed, ann.token);
    assertTold(ofNote('/hook', replayedFrom), 'replay', scenario);
    const names = service.receiver.requests
      .slice(replayedFrom)
      .map(({ headers }) => headers['x-service-changed']);
    assert.equal(names.includes('mark'), false, names.join());

    // The feed as the account's endpoint would be sent it.
    const feed = await service.call('GET', `/api/webhooks/feed?signed=${replayed}&collections=notes`);
    const inFeed = listOf(feed.items).filter(({ payload }) => payload.data.id === note);
    assertTold(
      inFeed.map(({ body }) => [JSON.parse(body).event, JSON.parse(body).data]),
      'feed',
      scenario,
    );
    for (const text of scenario.never) assert.ok(!JSON.stringify(inFeed).includes(text), text);

    // What the account reads of the log.
    const ofFailed = failed.find(({ record }) => record === note);
    const read = await service.request(`/api/webhooks/events/${ofFailed?.event}`, { token: ann.token });
    assert.equal(read.status, 200, read.text);
    assert.equal(read.json.body !== null, scenario.isRetried, read.text);
    for (const text of scenario.never) assert.ok(!JSON.stringify(read.json.body).includes(text), read.text);

    // A retry by hand.
    down.mode = { kind: 'ok' };
    const from = down.requests.length;
    await service.call('POST', `/api/webhooks/deliveries/${ofFailed?.id}/retry`);
    const over = await eventually('the retry is over', async () => {
      const found = await service.call('GET', `/api/webhooks/deliveries/${ofFailed?.id}`);
      return found.status === 'pending' ? undefined : found;
    });
    const again = down.requests.slice(from).map(({ body }) => body.toString());
    assert.equal(over.status, scenario.isRetried ? 'delivered' : 'cancelled');
    if (!scenario.isRetried)
      assert.equal(over.cause, 'The owner of the endpoint may not view the record any more.');
    assert.equal(again.length, scenario.isRetried ? 1 : 0);
    for (const text of scenario.never) assert.ok(!again.join().includes(text), again.join());

    // What has waited while the endpoint was paused.
    await service.call('POST', `${endpoints}/${paused}/resume`, { body: { backlog: 'drain' } });
    await eventually(
      'the backlog is sent',
      async () => (await service.deliveries("status = 'pending'")).length === 0,
    );
    const drained = ofNote('/drained', 0);
    assertTold(drained, 'drain', scenario);
  });
