// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allDecided } from '../support/all-decided.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { inSample } from '../support/sample.ts';
import { listOf } from '../support/webhook-service.ts';
import { falseIn, startWhyStage, type WhyStage } from '../support/why-stage.ts';
import { Random } from '../faults/random.ts';

const items = '/api/collections/items/records';

interface Library {
  readonly ada: string;
  readonly ben: string;
}

/** Makes a collection with fields of many types, and two records to which its relations lead. */
async function addItems(stage: WhyStage, rules: object = {}): Promise<Library> {
  const authors = await stage.call('POST', '/api/collections', {
    body: { name: 'authors', type: 'base', listRule: '', fields: [{ name: 'name', type: 'text' }] },
  });
  const relation = { type: 'relation', collectionId: authors.id };
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'rank', type: 'number' },
    { name: 'isPublic', type: 'bool' },
    { name: 'secret', type: 'text', hidden: true },
    { name: 'extra', type: 'json', maxSize: 2_000_000 },
    { name: 'state', type: 'select', values: ['open', 'paid'] },
    { name: 'tags', type: 'select', values: ['a', 'b', 'c'], maxSelect: 3 },
    { name: 'at', type: 'date' },
    { ...relation, name: 'author' },
    { ...relation, name: 'others', maxSelect: 9 },
  ];
  await stage.call('POST', '/api/collections', { body: { name: 'items', type: 'base', fields, ...rules } });
  const add = async (name: string): Promise<string> =>
    (await stage.call('POST', '/api/collections/authors/records', { body: { name } })).id;
  return { ada: await add('Ada'), ben: await add('Ben') };
}

test('what was false is named with the values of both sides', async (t) => {
  const clock = new MovableClock();
  const stage = await startWhyStage(t, { parts: { clock } });
  const { ada, ben } = await addItems(stage);
  const long = 'x'.repeat(300);
  const list = Array.from({ length: 300 }, (_, index) => index);
  const expected: readonly (readonly [filter: string, ...named: readonly (readonly unknown[])[]])[] = [
    // Of && what is false alone, of || all.
    ['rank = 7 && title = "a" && rank != 8', ['title = "a"', ['paid'], ['a']]],
    ['rank = 1 || title = "a"', ['rank = 1', [7], [1]], ['title = "a"', ['paid'], ['a']]],
    [
      'rank = 7 && (title = "a" || (rank > 3 && rank < 5))',
      ['title = "a"', ['paid'], ['a']],
      ['rank < 5', [7], [5]],
    ],
    ['( rank  =  1 ) // because', ['rank  =  1', [7], [1]]],
    // Each kind of value, also of the state before.
    ['isPublic = false', ['isPublic = false', [true], [false]]],
    ['state = "Paid"', ['state = "Paid"', ['paid'], ['Paid']]],
    ['state:changed = true', ['state:changed = true', [false], [true]]],
    ['@old.title = title', ['@old.title = title', ['new'], ['paid']]],
    ['@old.extra.level > extra.level', ['@old.extra.level > extra.level', [null], [2]]],
    ['extra.words.1 = 7', ['extra.words.1 = 7', ['two'], [7]]],
    ['extra.words = ""', ['extra.words = ""', [['one', 'two']], ['']]],
    ['secret:lower = "A"', ['secret:lower = "A"', ['hidden'], ['A']]],
    ['tags:length > 2', ['tags:length > 2', [2], [2]]],
    ['tags:each = "a"', ['tags:each = "a"', ['a', 'b'], ['a']]],
    ['tags:each ?= "c"', ['tags:each ?= "c"', ['a', 'b'], ['c']]],
    ["strftime('%Y', at) = '2025'", ["strftime('%Y', at) = '2025'", ['2026'], ['2025']]],
    ['at > @now', ['at > @now', ['2026-01-02 03:04:05.000Z'], ['2026-11-20 09:35:21.114Z']]],
    ['title = null', ['title = null', ['paid'], [null]]],
    // Long values are cut off.
    [
      '@old.title != "new" || secret = "x"',
      ['@old.title != "new"', ['new'], ['new']],
      ['secret = "x"', ['HIDDEN'], ['x']],
    ],
    [`title = "${long}"`, [`title = "${long}"`, ['paid'], [`${'x'.repeat(200)}…`]]],
    ['extra.long = "x"', ['extra.long = "x"', [`"${'x'.repeat(199)}…`], ['x']]],
    ['extra.list = 1', ['extra.list = 1', [`${JSON.stringify(list).slice(0, 200)}…`], [1]]],
    // Through relations.
    ['author.name = "Ben"', ['author.name = "Ben"', ['Ada'], ['Ben']]],
    ['author.id = others.id', ['author.id = others.id', [ada], [ada, ben]]],
    ['others ?= "nobody"', ['others ?= "nobody"', [ada, ben], ['nobody']]],
    ['others.name ?= "Eve"', ['others.name ?= "Eve"', ['Ada', 'Ben'], ['Eve']]],
    ['others.name ?= "Ada" && others.id ?= "none"', ['others.id ?= "none"', [ada, ben], ['none']]],
    // True of some related record each, but not of one.
    [
      `others.name ?= "Ada" && others.id ?= "${ben}"`,
      [`others.name ?= "Ada" && others.id ?= "${ben}"`, ['Ada', 'Ben'], ['Ada'], [ada, ben], [ben]],
    ],
  ];
  const made: string[] = [];
  for (const [filter] of expected)
    made.push((await stage.addEndpoint({ filter, collections: ['items'], events: ['record.update'] })).id);
  const body = { title: 'new', state: 'paid', secret: 'HIDDEN' };
  const { id } = await stage.call('POST', items, { body });
  clock.move(1_000);
  const values = {
    title: 'paid',
    rank: 7,
    isPublic: true,
    extra: { level: 2, words: ['one', 'two'], long, list },
    tags: ['a', 'b'],
    at: '2026-01-02 03:04:05.000Z',
    author: ada,
    others: [ada, ben],
  };
  await stage.call('PATCH', `${items}/${id}`, { body: values });
  // What was is asked about, whatever has become of it.
  clock.move(3_600_000);
  await stage.signIn();
  const event = await stage.lastEvent();
  await stage.call('PATCH', `${items}/${id}`, { body: { title: 'later' } });
  const lines = await stage.why({ event });
  for (const [index, [filter, ...named]] of expected.entries()) {
    const line = lines[index];
    assert.equal(line?.endpoint, made[index]);
    assert.equal(line.reason, 'filter', filter);
    assert.deepEqual(falseIn(line).map(sortedSides), named.map(sortedSides), filter);
    assert.equal(line.isOfNow, /author\.name|others\.name/.test(JSON.stringify(named)), filter);
    for (const { text, position } of line.comparisons)
      if (line.comparisons.length > 1) assert.ok(filter.startsWith(text, position), filter);
  }
});

/** Of many values the order is that in which they are found. */
function sortedSides([text, ...sides]: readonly unknown[]): readonly unknown[] {
  return [
    text,
    ...sides.map((side) =>
      Array.isArray(side) ? side.toSorted((a, b) => (String(a) < String(b) ? -1 : 1)) : side,
    ),
  ];
}

const operators = ['=', '!=', '>', '<=', '~', '!~'] as const;

/** Draws filters that are true as often as false. */
class FilterSource {
  readonly #random: Random;
  readonly #library: Library;

  constructor(random: Random, library: Library) {
    this.#random = random;
    this.#library = library;
  }

  filter(depth = 2): string {
    const count = depth === 0 ? 1 : this.#random.integer(1, 3);
    const parts = Array.from({ length: count }, () =>
      depth > 0 && this.#random.integer(0, 3) === 0 ? `(${this.filter(depth - 1)})` : this.#comparison(),
    );
    return parts.reduce((text, part) => `${text} ${this.#pick(['&&', '||'])} ${part}`);
  }

  /** The values of a record, at least some of which a filter may ask for. */
  values(): Readonly<Record<string, unknown>> {
    const { ada, ben } = this.#library;
    return {
      title: this.#pick(['a', 'b', 'ab', '']),
      rank: this.#random.integer(0, 3),
      isPublic: this.#pick([true, false]),
      secret: this.#pick(['a', 'b']),
      extra: this.#pick([null, { level: 1 }, { level: 'b', words: ['a', 'b'] }]),
      state: this.#pick(['', 'open', 'paid']),
      tags: this.#pick([[], ['a'], ['a', 'b'], ['c']]),
      at: this.#pick(['', '2025-01-02 03:04:05.000Z', '2026-01-02 03:04:05.000Z']),
      author: this.#pick(['', ada, ben]),
      others: this.#pick([[], [ada], [ada, ben]]),
    };
  }

  #comparison(): string {
    const { ada, ben } = this.#library;
    const operator = this.#pick(operators);
    const any = this.#pick(['', '?']);
    return this.#pick([
      `title ${operator} "${this.#pick(['a', 'b', ''])}"`,
      `rank ${operator} ${this.#random.integer(0, 3)}`,
      `isPublic = ${this.#pick(['true', 'false'])}`,
      `secret:lower ${operator} "a"`,
      `extra.level ${operator} ${this.#pick(['1', '"b"', 'rank'])}`,
      `extra.words.1 ${operator} "b"`,
      `state ${operator} "${this.#pick(['open', 'paid', ''])}"`,
      `tags:each ${any}${operator} "${this.#pick(['a', 'c'])}"`,
      `tags:length ${operator} 1`,
      `at ${operator} "2026-01-01"`,
      `strftime('%Y', at) ${operator} '2026'`,
      `author.name ${operator} "Ada"`,
      `others.name ${any}${operator} "${this.#pick(['Ada', 'Ben'])}"`,
      `others.id ${any}${operator} "${this.#pick([ada, ben])}"`,
      `others ?${operator} author`,
      `${this.#pick(['title', 'state', 'tags', 'secret'])}:changed = ${this.#pick(['true', 'false'])}`,
      `@old.${this.#pick(['title', 'rank', 'author.name'])} ${operator} ${this.#pick(['title', 'rank', '"a"', '1'])}`,
    ]);
  }

  #pick<Value>(list: readonly Value[]): Value {
    const picked = list[this.#random.integer(0, list.length - 1)];
    assert.ok(picked !== undefined);
    return picked;
  }
}

test('of any filter, what was not sent has a reason, and each comparison that is named was false', async (t) => {
  const stage = await startWhyStage(t);
  await stage.call('PATCH', '/api/collections/users', { body: { webhooks: { enabled: true } } });
  await stage.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: false } } });
  const library = await addItems(stage, { viewRule: 'isPublic = true', listRule: '' });
  const password = 'correct horse';
  const mia = { email: 'mia@example.com', password, passwordConfirm: password };
  const account = await stage.call('POST', '/api/collections/users/records', { body: mia });
  const seed = 20_261_127;
  const source = new FilterSource(new Random(seed), library);
  for (let number = 0; number < inSample(24, 80); number += 1) {
    const owner = number % 4 === 0 ? `_pb_users_auth_/${account.id}` : '';
    const body = { url: stage.receiver.url, filter: source.filter(), collections: ['items'], owner };
    // That of an account may not ask for hidden fields, nor for the state before.
    const { status, text } = await stage.request('/api/webhooks/endpoints', {
      method: 'POST',
      token: true,
      body,
    });
    assert.ok(status === 201 || (status === 400 && owner !== ''), text);
  }
  const ids: string[] = [];
  for (let number = 0; number < 24; number += 1) {
    const id = ids[number % 7];
    if (id === undefined || number % 5 === 4)
      ids.push((await stage.call('POST', items, { body: source.values() })).id);
    else if (number % 11 === 10)
      await stage.call('DELETE', `${items}/${ids.splice(number % 7, 1)[0]}`, { status: 204 });
    else await stage.call('PATCH', `${items}/${id}`, { body: source.values() });
  }
  await allDecided(stage);
  const events = await stage.call('GET', "/api/webhooks/events?perPage=100&filter=collection='items'");
  const asked = new Map<string, Promise<ReadonlyMap<string, boolean>>>();
  const test = async (filter: string): Promise<ReadonlyMap<string, boolean>> => {
    const body = { filter, collection: 'items' };
    const tested = await stage.call('POST', '/api/webhooks/filters/test', { body });
    return new Map(listOf(tested.items).map(({ id, isMet }) => [String(id), isMet === true] as const));
  };
  let named = 0;
  for (const { id: event, deliveries } of listOf(events.items)) {
    const told = new Set(listOf(deliveries).map(({ endpoint }) => endpoint));
    for (const line of await stage.why({ event })) {
      assert.equal(line.isSent, told.has(line.endpoint));
      if (line.isSent === true) continue;
      const about = JSON.stringify([seed, event, line]);
      assert.ok(['filter', 'owner'].includes(line.reason), about);
      assert.equal(line.comparisons.length > 0, line.reason === 'filter', about);
      for (const { text } of line.comparisons) {
        if (!asked.has(text)) asked.set(text, test(text));
        assert.equal((await asked.get(text))?.get(event), false, `${text}: ${about}`);
        named += 1;
      }
    }
  }
  assert.ok(named > 100);
});
