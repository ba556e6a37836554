import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import { readParts } from './archive-stage.ts';

/** What changes when an instance is only opened or exported. */
const volatile = ['manifest.json', 'parts.ndjson', 'tables/instance_setting.ndjson', 'tables/audit.ndjson'];

/** Compares two archives to the last byte. */
export async function assertSameParts(one: string, other: string): Promise<void> {
  const [first, second] = [await readParts(one), await readParts(other)];
  // Lines are written now and then: there may have been none.
  if (!first.has('tables/log.ndjson')) second.delete('tables/log.ndjson');
  assert.deepEqual([...second.keys()].toSorted(), [...first.keys()].toSorted());
  for (const [name, content] of first)
    if (!volatile.includes(name)) assert.equal(second.get(name), content, name);
}

/** Returns every answer of an instance with what `fillWorld` has made. */
export async function look(url: string, prefix: string, token: string): Promise<unknown[]> {
  const headers = { authorization: token };
  const items = async (path: string): Promise<readonly unknown[]> => {
    const answer = await fetch(`${url}${prefix}/api/webhooks/${path}`, { headers });
    // A list of the API.
    return ((await answer.json()) as { items: unknown[] }).items;
  };
  // On PostgreSQL a node finds out now and then up to where the log is complete.
  const { length } = await items('events?perPage=500');
  await eventually('the log can be read', async () => (await items('feed?perPage=500')).length === length);
  const answers: unknown[] = [];
  const ask = async (path: string): Promise<string> => {
    const answer = await fetch(`${url}${prefix}${path}`, { headers });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${path} ${text}`);
    // A cursor is sealed anew each time.
    answers.push([
      path,
      answer.headers.get('etag'),
      text.replaceAll(/"(?:nextCursor|cursor|iterator)":"[^"]*"/g, ''),
    ]);
    return text;
  };
  // A list of the API.
  const collections = JSON.parse(await ask('/api/collections?perPage=500')) as { items: { name: string }[] };
  for (const { name } of collections.items) await ask(`/api/collections/${name}/records?perPage=500`);
  for (const path of [
    'endpoints',
    'deliveries?perPage=500',
    'events?perPage=500',
    'feed?perPage=500',
    'lanes',
  ])
    await ask(`/api/webhooks/${path}`);
  await ask('/api/settings');
  await ask('/api/keys');
  // The records of `fillWorld`.
  const notes = JSON.parse(await ask('/api/collections/notes/records?perPage=500')) as {
    items: { id: string; pictures: string[] }[];
  };
  for (const { id, pictures } of notes.items)
    for (const name of pictures) await ask(`/api/files/notes/${id}/${name}`);
  return answers;
}
