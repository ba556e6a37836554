// Both engines: lists are restricted by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKey } from '../support/make-key.ts';
import { decisions, routesOf, webhooks } from '../support/portal-decisions.ts';
import { settled, startPortalStage } from '../support/portal-stage.ts';
import type { TestAnswer } from '../support/service.ts';
import { listOf, startWebhookService } from '../support/webhook-service.ts';

/** Of the form of every id, and of none that there is. */
const nobody = 'zzzzzzzzzzzzzzz';

test('every route of webhooks says what a key for some endpoints may do by it', async (t) => {
  const service = await startWebhookService(t);
  const { paths } = await service.call('GET', '/api/openapi.json');
  const routes = Object.entries<object>(paths)
    .filter(([path]) => path.startsWith(webhooks))
    .flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== 'parameters')
        .map((method) => `${method.toUpperCase()} ${path.slice(webhooks.length)}`),
    );
  assert.deepEqual(routes.toSorted(), Object.keys(decisions).toSorted());
});

test('what is for whoever may see all is refused, whatever it is asked of', async (t) => {
  const { ask, own, foreign, call } = await startPortalStage(t);
  const before = await call('GET', '/api/webhooks/endpoints');
  for (const [method, path] of routesOf('refused'))
    for (const id of [own, foreign, nobody]) {
      const body = method === 'GET' ? undefined : { url: 'http://127.0.0.1:9/' };
      const answer = await ask(method, path.replace(/\{\w+\}/, id), body);
      assert.deepEqual(answer.json, {
        data: {},
        message: 'The API key is bound to endpoints and may not do this.',
        status: 403,
      });
    }
  assert.deepEqual(await call('GET', '/api/webhooks/endpoints'), before);
});

test('a key does with its endpoint what looking after it takes, and another is like none', async (t) => {
  const stage = await startPortalStage(t);
  const { ask, call, own, foreign } = stage;
  await stage.addPost();
  await settled(stage, 2);
  const before = await call('GET', `${webhooks}/endpoints/${foreign}`);
  for (const [method, path] of routesOf('endpoint')) {
    const answers = await Promise.all(
      [foreign, nobody].map((id) => ask(method, path.replace('{id}', id), method === 'GET' ? undefined : {})),
    );
    for (const answer of answers) assert.equal(answer.status, 404, `${method} ${path}`);
    assert.deepEqual(answers[0]?.json, answers[1]?.json);
    const body = path.endsWith('/replay') ? { dryRun: true } : {};
    const answer = await ask(method, path.replace('{id}', own), method === 'GET' ? undefined : body);
    assert.equal(answer.status >= 300, path.endsWith('/reconcile'), `${method} ${path}: ${answer.text}`);
  }
  assert.deepEqual(await call('GET', `${webhooks}/endpoints/${foreign}`), before);
  assert.equal((await stage.deliveries(`endpoint = '${foreign}'`)).length, 1, 'no test was sent there');
});

test('lists, their totals and their filters are those of its endpoints alone', async (t) => {
  const stage = await startPortalStage(t);
  const { ask, own, foreign } = stage;
  await stage.addPost();
  await settled(stage, 2);
  for (const list of ['endpoints', 'lanes', 'deliveries']) {
    const { json } = await ask('GET', `${webhooks}/${list}`);
    assert.equal(json.totalItems, 1, list);
    const name = list === 'deliveries' ? 'endpoint' : 'id';
    assert.deepEqual(
      listOf(json.items).map((item) => item[name]),
      [own],
    );
    const of = async (id: string): Promise<number> =>
      (await ask('GET', `${webhooks}/${list}?filter=${encodeURIComponent(`${name} = '${id}'`)}`)).json
        .totalItems;
    assert.deepEqual([await of(own), await of(foreign)], [1, 0], list);
    const narrowed = `${webhooks}/${list}?filter=${encodeURIComponent(`id = 'x' || ${name} != 'x'`)}`;
    assert.equal((await ask('GET', narrowed)).json.totalItems, 1, list);
  }
});

test('a delivery of its endpoint is seen, sent again and cancelled, and of another there is none', async (t) => {
  const stage = await startPortalStage(t);
  const { ask, own, foreign } = stage;
  await stage.addPost();
  await settled(stage, 2);
  const [mine, theirs] = await Promise.all(
    [own, foreign].map(async (id) => (await stage.deliveries(`endpoint = '${id}'`))[0]),
  );
  const eventId = String(mine.event);
  for (const [method, path] of routesOf('delivery'))
    for (const id of [theirs.id, `${eventId}-${nobody}`, `${theirs.id}-${own}`, eventId])
      assert.equal((await ask(method, path.replace('{id}', id))).status, 404, `${method} ${path} ${id}`);
  const retried = await ask('POST', `${webhooks}/deliveries/${mine.id}/retry`);
  assert.equal(retried.json.status, 'pending', retried.text);
  await settled(stage, 2);
  const seen = await ask('GET', `${webhooks}/deliveries/${mine.id}`);
  assert.equal(seen.json.attempts.length, 2);
  await ask('POST', `${webhooks}/endpoints/${own}/pause`);
  await stage.addPost('two');
  const [waiting] = await stage.deliveries(`endpoint = '${own}' && status = 'pending'`);
  const cancelled = await ask('POST', `${webhooks}/deliveries/${waiting.id}/cancel`);
  assert.equal(cancelled.json.status, 'cancelled', cancelled.text);
});

test('a replay of its endpoint is begun, seen and cancelled, and of another there is none', async (t) => {
  const stage = await startPortalStage(t);
  const { ask, call, own, foreign } = stage;
  await stage.addPost();
  await settled(stage, 2);
  const begin = async (id: string): Promise<string> => {
    // It goes on for as long as the endpoint is paused.
    await call('POST', `${webhooks}/endpoints/${id}/pause`);
    return (await call('POST', `${webhooks}/endpoints/${id}/replay`, { body: { scope: 'all' } })).id;
  };
  const theirs = await begin(foreign);
  await ask('POST', `${webhooks}/endpoints/${own}/pause`);
  const begun = await ask('POST', `${webhooks}/endpoints/${own}/replay`, { scope: 'all' });
  assert.equal(begun.json.endpoint, own, begun.text);
  for (const [method, path] of routesOf('replay')) {
    for (const id of [theirs, nobody])
      assert.equal((await ask(method, path.replace('{id}', id))).status, 404, `${method} ${path}`);
    assert.equal((await ask(method, path.replace('{id}', begun.json.id))).status, 200, `${method} ${path}`);
  }
  assert.equal((await call('GET', `${webhooks}/replays/${theirs}`)).state, 'running');
});

test('an event is there if one of its endpoints is told of it, with their deliveries alone', async (t) => {
  const stage = await startPortalStage(t, { events: ['record.update'] });
  const { ask, call, own } = stage;
  const { id } = await stage.addPost('one');
  await call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'two' } });
  await settled(stage, 3);
  const { items } = await call('GET', `${webhooks}/events?sort=created`);
  const [created, updated] = listOf(items);
  for (const query of ['', `?record=posts/${id}`, "?filter=kind != 'ping'"]) {
    const { json } = await ask('GET', webhooks + '/events' + query.replaceAll(' ', '%20'));
    assert.equal(json.totalItems, 1, query);
    const [event] = listOf(json.items);
    assert.equal(event.id, updated.id);
    assert.deepEqual(
      listOf(event.deliveries).map((one) => one.endpoint),
      [own],
    );
  }
  const seen = await ask('GET', `${webhooks}/events/${updated.id}`);
  assert.equal(seen.json.body.data.title, 'two');
  assert.equal(listOf(seen.json.deliveries).length, 1);
  const hidden = await ask('GET', `${webhooks}/events/${created.id}`);
  assert.equal(hidden.status, 404);
  assert.deepEqual(hidden.json, (await ask('GET', `${webhooks}/events/${nobody}`)).json);
});

test('the body of an event has what its endpoints are sent of it, and no more', async (t) => {
  const stage = await startPortalStage(t, { fields: ['title'] });
  const { ask, own } = stage;
  const { id } = await stage.addPost('one');
  const [{ event }] = await stage.deliveries(`endpoint = '${own}'`);
  const dataOf = async (token: string): Promise<unknown> =>
    (await stage.request(`${webhooks}/events/${event}`, { token })).json.body.data;
  assert.deepEqual(await dataOf(stage.key), { id, title: 'one' });
  const thin = await stage.addEndpoint({ payload: 'thin' });
  const both = await makeKey(stage, ['webhooks:read'], { endpoints: [own, thin.id] });
  assert.deepEqual(await dataOf(both.key), { id, title: 'one' }, 'the thin one is not told of it');
  await stage.addPost('two');
  const [{ event: second }] = await stage.deliveries(`endpoint = '${thin.id}'`);
  const { json } = await stage.request(`${webhooks}/events/${second}`, { token: both.key });
  assert.deepEqual(Object.keys(json.body), ['event', 'timestamp', 'instance_id', 'collection', 'data']);
  assert.deepEqual(Object.keys(json.body.data), ['id', 'title'], 'what they are sent together');
  const whole = await stage.request(`${webhooks}/events/${second}`, { token: true });
  assert.ok('rank' in whole.json.body.data);
  // The values before a change are shown where an endpoint is sent them, and of its fields alone.
  const { id: changed } = await stage.addPost('three');
  await stage.call('PATCH', `/api/collections/posts/records/${changed}`, {
    body: { title: 'four', rank: 4 },
  });
  const [{ event: third }] = await stage.deliveries(`endpoint = '${own}' && kind = 'record.update'`);
  const before = async (token: string | true): Promise<unknown> =>
    (await stage.request(`${webhooks}/events/${third}`, { token })).json.body;
  assert.deepEqual(Object.keys(Object(await before(stage.key))), Object.keys(json.body));
  await stage.call('PATCH', `${webhooks}/endpoints/${own}`, { body: { payload: 'previous' } });
  await stage.call('PATCH', `/api/collections/posts/records/${changed}`, {
    body: { title: 'five', rank: 5 },
  });
  const [, { event: fourth }] = await stage.deliveries(`endpoint = '${own}' && kind = 'record.update'`);
  const last = await ask('GET', `${webhooks}/events/${fourth}`);
  assert.deepEqual(last.json.body.previous, { title: 'four' }, last.text);
  // A count by what is left out would tell it.
  const counted = await ask('POST', `${webhooks}/endpoints/${own}/replay`, {
    scope: 'all',
    filter: 'rank = 0',
    dryRun: true,
  });
  assert.equal(counted.status, 403, counted.text);
  assert.equal(last.json.actor, '', 'nor who has made the change');
});

test('a change that could widen what is told is refused and changes nothing; what was shown may be sent back', async (t) => {
  const { ask, call, own } = await startPortalStage(t);
  const path = `${webhooks}/endpoints/${own}`;
  const before = await call('GET', path);
  const wider = {
    events: ['record.create'],
    collections: [],
    payload: 'thin',
    fields: ['title'],
    cloudEvents: true,
    filter: 'rank > 1',
    owner: 'users/nobody',
  };
  for (const [name, value] of Object.entries(wider)) {
    const answer = await ask('PATCH', path, { description: 'mine', [name]: value });
    assert.equal(answer.status, 403, answer.text);
    assert.deepEqual(answer.json, {
      data: {
        [name]: {
          code: 'validation_invalid_value',
          message: 'The API key is bound to the endpoint and may not change this.',
        },
      },
      message: `The API key is bound to endpoints and may not change their ${name}.`,
      status: 403,
    });
  }
  // Neither a collection that there is nor one that there is not.
  for (const name of ['users', 'nowhere'])
    assert.equal((await ask('PATCH', path, { collections: [name] })).status, 403, name);
  assert.deepEqual(await call('GET', path), before);
  const allowed = {
    url: `${before.url}hook`,
    description: 'mine',
    headers: { 'x-shop': 'harbour' },
    maxInFlight: 2,
    timeoutMs: 2_000,
    schedule: [60],
    order: 'record',
    coalesce: true,
    onExhausted: 'skip',
    maxAgeSeconds: 3_600,
    rateLimit: 5,
  };
  const changed = await ask('PATCH', path, { ...before, ...allowed });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual({ ...changed.json, updated: '' }, { ...before, ...allowed, updated: '' });
});

test('a check is of a change of its endpoint, and looks at nothing that it may not change', async (t) => {
  const { ask, own, foreign } = await startPortalStage(t);
  const check = (body: object): Promise<TestAnswer> => ask('POST', `${webhooks}/endpoints/check`, body);
  for (const body of [{}, { id: '' }, { id: foreign }, { id: nobody }, { id: 1 }])
    assert.equal((await check({ url: 'https://example.com/', ...body })).status, 404, JSON.stringify(body));
  const fine = await check({ id: own, url: 'https://example.com/', collections: ['nowhere'] });
  assert.equal(fine.status, 200, fine.text);
  assert.deepEqual(Object.keys(fine.json.problems), ['collections']);
  assert.equal(
    fine.json.problems.collections.message,
    'The API key is bound to the endpoint and may not change this.',
  );
});

test('a test is the test event, and no record of whoever asks for it', async (t) => {
  const stage = await startPortalStage(t);
  const { id } = await stage.addPost();
  for (const body of [
    { recordId: id },
    { event: 'record.create' },
    { event: 'record.create', recordId: id },
  ]) {
    const answer = await stage.ask('POST', `${webhooks}/endpoints/${stage.own}/test`, body);
    assert.equal(answer.status, 403, answer.text);
  }
});

test('a key that reads changes nothing, and shows no secret', async (t) => {
  const stage = await startPortalStage(t);
  const { key } = await makeKey(stage, ['webhooks:read'], { endpoints: [stage.own] });
  for (const [method, path] of routesOf('endpoint')) {
    const answer = await stage.request(path.replace('{id}', stage.own), {
      method,
      token: key,
      ...(method !== 'GET' && { body: {} }),
    });
    const isRead = method === 'GET' && !path.endsWith('/secret');
    assert.equal(answer.status, isRead ? 200 : 403, `${method} ${path}`);
  }
});

test('a key whose endpoints were all deleted sees nothing', async (t) => {
  const stage = await startPortalStage(t);
  const { ask, call, own } = stage;
  await stage.addPost();
  await settled(stage, 2);
  const [{ id: delivery, event }] = await stage.deliveries(`endpoint = '${own}'`);
  await call('DELETE', `${webhooks}/endpoints/${own}`);
  for (const list of ['endpoints', 'lanes', 'deliveries', 'events']) {
    const { json } = await ask('GET', `${webhooks}/${list}`);
    assert.deepEqual([json.totalItems, json.items], [0, []], list);
  }
  for (const path of [`endpoints/${own}`, `deliveries/${delivery}`, `events/${event}`])
    assert.equal((await ask('GET', `${webhooks}/${path}`)).status, 404, path);
  assert.deepEqual((await ask('GET', '/api/keys/current')).json.endpoints, [own]);
});

test('a key is bound to endpoints that there are, and has scopes of webhooks alone', async (t) => {
  const stage = await startPortalStage(t);
  const { own, foreign } = stage;
  const make = (body: object): Promise<TestAnswer> =>
    stage.request('/api/keys', { method: 'POST', token: true, body: { name: 'portal', ...body } });
  const scopes = ['webhooks:read'];
  const cases: readonly (readonly [body: object, message: string])[] = [
    [{ scopes, endpoints: [nobody] }, `There is no endpoint "${nobody}".`],
    [{ scopes, endpoints: [own, 1] }, 'There is no endpoint 1.'],
    ...[[], own, {}, Array.from({ length: 101 }, () => own)].map(
      (endpoints) =>
        [
          { scopes, endpoints },
          'Must be null for all, or an array of 1 to 100 ids of endpoints of webhooks.',
        ] as const,
    ),
    ...['admin', 'records:read', 'records:write', 'collections:read', 'collections:write', 'metrics'].map(
      (scope) =>
        [
          { scopes: [...scopes, scope], endpoints: [own] },
          'Only a key whose scopes are all of webhooks can be bound to endpoints.',
        ] as const,
    ),
  ];
  for (const [body, message] of cases) {
    const answer = await make(body);
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(answer.json.data, { endpoints: { code: 'validation_invalid_value', message } });
  }
  const made = await make({ scopes, endpoints: [own, foreign, own] });
  assert.deepEqual(made.json.endpoints, [own, foreign], made.text);
  const shown = await stage.request('/api/keys/current', { token: made.json.key });
  assert.deepEqual(shown.json.endpoints, [own, foreign]);
  const all = await make({ scopes, endpoints: null });
  assert.equal(all.json.endpoints, null);
  assert.equal((await stage.request(`${webhooks}/endpoints`, { token: all.json.key })).json.totalItems, 2);
});
