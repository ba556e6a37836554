import type PocketBase from 'pocketbase';
import type { Random } from '../faults/random.ts';

/** A text with what formats and engines trip over. */
const texts = [
  '',
  'plain',
  'naïve — 日本 🎉',
  'tab\tline\nquote" back\\slash',
  '{"a":1}',
  String.raw`\N`,
  'null',
];
const numbers = [0, 1, -1.5, 0.1 + 0.2, 1e21, 5e-324, 1.7976931348623157e308, 123456789.12345678];

async function makeCollections(pb: PocketBase): Promise<void> {
  const authors = await pb.collections.create({
    name: 'authors',
    type: 'auth',
    listRule: '',
    viewRule: '',
    fields: [{ name: 'bio', type: 'editor' }],
  });
  await pb.collections.create({
    name: 'a_collection_with_a_name_that_is_as_long_as_names_of_collections_may_be',
    listRule: '',
    fields: [{ name: 'a_field_whose_name_is_longer_than_what_postgresql_keeps_of_a_name', type: 'text' }],
  });
  await pb.collections.create({
    name: 'notes',
    listRule: '',
    indexes: ['CREATE UNIQUE INDEX idx_notes_serial ON notes (serial)'],
    fields: [
      { name: 'serial', type: 'number' },
      { name: 'title', type: 'text' },
      { name: 'score', type: 'number' },
      { name: 'done', type: 'bool' },
      { name: 'kinds', type: 'select', values: ['a', 'b', 'c'], maxSelect: 3 },
      { name: 'data', type: 'json' },
      { name: 'at', type: 'date' },
      { name: 'place', type: 'geoPoint' },
      { name: 'author', type: 'relation', collectionId: authors.id, maxSelect: 2 },
      { name: 'pictures', type: 'file', maxSelect: 5, maxSize: 1_000_000 },
    ],
  });
}

/** Fills an instance with collections of every kind of field, records, files, accounts, endpoints and keys. */
export async function fillWorld(
  pb: PocketBase,
  random: Random,
  receiver: string,
): Promise<{ readonly endpoint: string }> {
  await makeCollections(pb);
  const endpoint = {
    url: receiver,
    events: ['record.create', 'record.update', 'record.delete'],
    name: 'mirror',
  };
  const { id } = await pb.send<{ id: string }>('/api/webhooks/endpoints', { method: 'POST', body: endpoint });
  await pb.send(`/api/webhooks/endpoints/${id}/pause`, { method: 'POST' });
  const account = { password: 'correct horse battery', passwordConfirm: 'correct horse battery' };
  const authorIds: string[] = [];
  for (let index = 0; index < 4; index += 1)
    authorIds.push(
      (
        await pb
          .collection('authors')
          .create({ email: `author${index}@example.com`, bio: '<p>x</p>', ...account })
      ).id,
    );
  const notes: string[] = [];
  for (let serial = 0; serial < 40; serial += 1) {
    const form = new FormData();
    const values = {
      serial: serial + 1,
      title: random.pick(texts),
      score: random.pick(numbers),
      done: random.integer(0, 1) === 1,
      kinds: ['a', 'b', 'c'].filter(() => random.integer(0, 1) === 1),
      data: random.pick([null, 1, 'text', [1, { deep: [true] }], { b: 1, a: 2 }]),
      at: random.pick(['', '2026-01-02 03:04:05.678Z']),
      place: { lon: random.integer(-180, 180), lat: random.integer(-90, 90) },
      author: random.pick(authorIds),
    };
    form.set('@jsonPayload', JSON.stringify(values));
    if (random.integer(0, 2) === 0)
      form.append(
        'pictures',
        new File([`${random.integer(0, 9)}`.repeat(random.integer(0, 99))], 'a picture.png'),
      );
    notes.push((await pb.collection('notes').create(form)).id);
  }
  for (let change = 0; change < 20; change += 1) {
    const at = random.integer(0, notes.length - 1);
    const note = notes[at] ?? '';
    if (random.integer(0, 3) === 0) {
      await pb.collection('notes').delete(note);
      notes.splice(at, 1);
    } else
      await pb.collection('notes').update(note, { title: random.pick(texts), score: random.pick(numbers) });
  }
  return { endpoint: id };
}
