// Both engines: the change before a change is found in the log of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryMirror, mirror } from '../../kit/src/mirror.ts';
import { Random } from '../faults/random.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';
const filter = encodeURIComponent('isPublic = true');
const query = `filter=${filter}&transitions=true`;

interface Line {
  readonly line: string;
  readonly data: Json;
  readonly item: Json;
}

/** Reads the feed until it has told the last of what was written. */
async function readAll(service: WebhookService, more = ''): Promise<readonly Line[]> {
  const { id } = await service.call('POST', posts, { body: { title: 'last', isPublic: true }, status: 201 });
  const lines: Line[] = [];
  let next = '';
  await eventually('the last change comes', async () => {
    const path = `/api/webhooks/feed?${query}${more}${next === '' ? '' : `&cursor=${next}`}`;
    const { items, nextCursor } = await service.call('GET', path);
    next = nextCursor;
    for (const item of items) {
      const { event, data } = item.payload;
      const line = `${item.transition ?? String(event).slice('record.'.length)} ${data.title ?? data.id}`;
      lines.push({ line, data, item });
    }
    return lines.some(({ data }) => data.id === id);
  });
  return lines.filter(({ data }) => data.id !== id);
}

async function add(service: WebhookService, body: object): Promise<string> {
  return (await service.call('POST', posts, { body, status: 201 })).id;
}

function change(service: WebhookService, id: string, body: object): Promise<Json> {
  return service.call('PATCH', `${posts}/${id}`, { body });
}

test('the feed tells when records come to meet its filter, and when they meet it no more', async (t) => {
  const service = await startWebhookService(t);
  const a = await add(service, { title: 'a' });
  const b = await add(service, { title: 'b', isPublic: true });
  await change(service, a, { isPublic: true });
  await change(service, a, { title: 'a2' });
  await change(service, a, { title: 'secret', isPublic: false });
  await change(service, a, { title: 'unseen' });
  await service.call('DELETE', `${posts}/${a}`);
  await service.call('DELETE', `${posts}/${b}`);
  const lines = await readAll(service);
  assert.deepEqual(
    lines.map(({ line }) => line),
    ['create b', 'enter a', 'update a2', 'leave a2', 'delete b'],
  );
  const [, enter, , leave] = lines;
  assert.deepEqual([enter?.item.payload.event, enter?.data.isPublic], ['record.create', true]);
  // The state that it had, not the one that it was given.
  assert.deepEqual([leave?.item.payload.event, leave?.data.isPublic], ['record.delete', true]);
  assert.ok(!JSON.stringify(lines).includes('secret'), 'no state is told that did not meet the filter');
  assert.deepEqual(Object.keys(leave?.item).toSorted(), ['id', 'payload', 'sequence', 'transition']);
  // A note is a hidden field.
  assert.ok(!Object.hasOwn(leave?.data ?? {}, 'note'));
});

test('a record that is made again under its id begins anew', async (t) => {
  const service = await startWebhookService(t);
  const id = await add(service, { title: 'a', isPublic: true });
  await service.call('DELETE', `${posts}/${id}`);
  await add(service, { id, title: 'b' });
  await change(service, id, { isPublic: true });
  assert.deepEqual(
    (await readAll(service)).map(({ line }) => line),
    ['create a', 'delete a', 'enter b'],
  );
});

test('one page may have a single event, and a page of one tells the same', async (t) => {
  const service = await startWebhookService(t);
  const id = await add(service, { title: 'a', isPublic: true, extra: 'x'.repeat(900_000) });
  const other = await add(service, { title: 'b', isPublic: true, extra: 'x'.repeat(900_000) });
  for (const one of [id, other]) await change(service, one, { isPublic: false, extra: '' });
  const expected = ['create a', 'create b', 'leave a', 'leave b'];
  for (const more of ['&perPage=1', ''])
    assert.deepEqual(
      (await readAll(service, more)).map(({ line }) => line).filter((line) => !line.endsWith('last')),
      expected,
    );
});

test('where the change before was removed, a leave has the id alone', async (t) => {
  const service = await startWebhookService(t);
  const id = await add(service, { title: 'a', isPublic: true });
  const { items } = await service.call('GET', '/api/webhooks/events?sort=-created&perPage=1');
  await service.call('DELETE', `/api/webhooks/events/${items[0].id}/body`);
  await change(service, id, { isPublic: false });
  const lines = await readAll(service);
  assert.deepEqual(
    lines.map(({ line, data }) => [line, data]),
    [[`leave ${id}`, { id }]],
  );
});

test('a mirror that follows the feed has what the record API shows, whatever was written', async (t) => {
  const service = await startWebhookService(t);
  const random = new Random(11);
  const ids: string[] = [];
  for (let count = 0; count < 150; count += 1) {
    const [id, chance] = [random.pick(ids), random.unit()];
    const body = { title: `t${count}`, isPublic: random.unit() < 0.5 };
    if (id === undefined || chance < 0.3) ids.push(await add(service, body));
    else if (chance < 0.9) await change(service, id, body);
    else {
      ids.splice(ids.indexOf(id), 1);
      await service.call('DELETE', `${posts}/${id}`);
    }
  }
  const store = new MemoryMirror();
  const apply = mirror({ store });
  for (const { item } of await readAll(service, '&perPage=7'))
    await apply({ event: item.payload, sequence: item.sequence, transition: item.transition });
  const copy = store.records('posts').map(({ id, title }) => `${id} ${String(title)}`);
  const { items } = await service.call('GET', `${posts}?perPage=500&filter=${filter}`);
  const shown = listOf(items).map(({ id, title }) => `${id} ${title}`);
  const expected = shown.filter((line) => !line.endsWith(' last'));
  assert.deepEqual(copy.toSorted(), expected.toSorted());
});

test('transitions need a filter, and go with no selection of events and no signature', async (t) => {
  const service = await startWebhookService(t);
  for (const [more, name] of [
    ['transitions=true', 'filter'],
    [`${query}&events=record.create`, 'events'],
    [`${query}&signed=abc`, 'signed'],
    [`filter=${filter}&transitions=maybe`, 'transitions'],
  ]) {
    const answer = await service.call('GET', `/api/webhooks/feed?${more}`, { status: 400 });
    assert.deepEqual(Object.keys(answer.data), [name], JSON.stringify(answer));
  }
});
