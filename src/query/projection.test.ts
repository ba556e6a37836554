import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { memberOf, parseFields, pickFields } from './projection.ts';

const record = {
  id: 'r1',
  title: 'One',
  tags: ['a', 'b'],
  meta: { pages: 3, size: { w: 1, h: 2 }, list: [{ n: 1, m: 2 }, 5, { m: 3 }, [{ n: 4, m: 5 }]] },
  none: null,
  expand: { author: { id: 'u1', name: 'A', email: 'a@x' }, all: [{ id: 'u2', name: 'B' }] },
};

const picks: readonly (readonly [fields: string, picked: unknown])[] = [
  ['id', { id: 'r1' }],
  ['title,id', { id: 'r1', title: 'One' }],
  [' id , ,title, ', { id: 'r1', title: 'One' }],
  ['nothing', {}],
  ['id,nothing.at.all', { id: 'r1' }],
  ['*', record],
  ['*,title', record],
  ['meta.pages', { meta: { pages: 3 } }],
  ['meta.size.w,meta.pages', { meta: { pages: 3, size: { w: 1 } } }],
  ['meta,meta.pages', { meta: record.meta }],
  ['meta.pages,meta', { meta: record.meta }],
  ['meta.size.*', { meta: { size: { w: 1, h: 2 } } }],
  ['meta.*,meta.size.h', { meta: { ...record.meta, size: { h: 2 } } }],
  ['meta.list.n', { meta: { list: [{ n: 1 }, 5, {}, [{ n: 4 }]] } }],
  ['title.x', { title: 'One' }],
  ['none.x,tags.y', { tags: ['a', 'b'], none: null }],
  ['expand.author.name', { expand: { author: { name: 'A' } } }],
  ['*,expand.all.id', { ...record, expand: { all: [{ id: 'u2' }] } }],
];

for (const [fields, picked] of picks) {
  test(`fields=${fields} keeps what it names`, () => {
    const projection = parseFields(fields);
    assert.ok(projection);
    assert.deepEqual(pickFields(record, projection), picked);
  });
}

test('members keep the order of the source, and the source is not changed', () => {
  const before = structuredClone(record);
  const picked = pickFields(record, parseFields('expand.author.name,title,id')!);
  assert.equal(JSON.stringify(picked), '{"id":"r1","title":"One","expand":{"author":{"name":"A"}}}');
  assert.deepEqual(record, before);
});

test('a list of records is picked from one by one', () => {
  assert.deepEqual(pickFields([record, record], parseFields('id')!), [{ id: 'r1' }, { id: 'r1' }]);
});

test('fields that name nothing keep everything', () => {
  assert.equal(parseFields(' , ,'), undefined);
});

test('names of every object are members like others', () => {
  const value: unknown = JSON.parse('{"__proto__":{"a":1,"b":2},"constructor":3,"c":4}');
  assert.equal(
    JSON.stringify(pickFields(value, parseFields('__proto__.a,constructor')!)),
    '{"__proto__":{"a":1},"constructor":3}',
  );
  assert.deepEqual(pickFields({ c: 4 }, parseFields('toString,hasOwnProperty')!), {});
});

const story = {
  id: 'r1',
  body: '<p>Once <b>upon</b></p>a time',
  tags: ['<b>x</b>'],
  n: 5,
  by: [{ bio: '<i>Ann</i> Lee' }],
};

const excerpts: readonly (readonly [fields: string, picked: unknown])[] = [
  ['body:excerpt(9)', { body: 'Once upon' }],
  ['body:excerpt(7,true)', { body: 'Once up...' }],
  [' id , body : excerpt( 4 , 0 ) ,n', { id: 'r1', body: 'Once', n: 5 }],
  ['*,body:excerpt(100,T)', { ...story, body: 'Once upon a time' }],
  ['by.bio:excerpt(3)', { by: [{ bio: 'Ann' }] }],
  // What is no text stays as it is.
  ['tags:excerpt(1),n:excerpt(1),by:excerpt(1)', { tags: story.tags, n: 5, by: story.by }],
  ['nothing:excerpt(5),nothing.at.all:excerpt(5)', {}],
  // The last mention counts.
  ['body,body:excerpt(5)', { body: 'Once' }],
  ['body:excerpt(5),body', { body: story.body }],
  ['by:excerpt(5),by.bio', { by: story.by }],
  // Of all texts that are not named.
  ['*:excerpt(4)', { ...story, body: 'Once' }],
  ['*:excerpt(1),id', { ...story, body: 'O' }],
  ['*:excerpt(4),*', story],
  ['*,*:excerpt(4)', { ...story, body: 'Once' }],
  ['by.*:excerpt(3)', { by: [{ bio: 'Ann' }] }],
  ['*:excerpt(4),by.bio', { ...story, body: 'Once' }],
];

for (const [fields, picked] of excerpts) {
  test(`fields=${fields} keeps the beginning of texts`, () => {
    assert.deepEqual(pickFields(story, parseFields(fields)!), picked);
  });
}

test('an excerpt that is not written as one, and every other modifier, is refused', () => {
  for (const fields of [
    'title:upper',
    'title:',
    'title:excerpt(5):excerpt(5)',
    'title:excerpt(5) x',
    'title:excerpt(5',
    'title:excerpt((5))',
    'title:Excerpt(5)',
  ])
    assert.throws(
      () => parseFields(`id,${fields}`),
      /^AppError: Expected no modifier but ":excerpt\(max, withEllipsis\)" in fields/,
      fields,
    );
  for (const fields of [
    'excerpt',
    'excerpt()',
    'excerpt(0)',
    'excerpt(-5)',
    'excerpt(1.5)',
    'excerpt(x)',
    'excerpt(1234567890)',
    'excerpt(5,)',
    'excerpt(5,yes)',
    'excerpt(5,true,1)',
    'excerpt(,true)',
  ])
    assert.throws(
      () => parseFields(`title:${fields}`),
      /^AppError: Expected a number of characters, and true or false, in "title:/,
      fields,
    );
  assert.throws(() => parseFields(':excerpt(5)'), /Expected the name of a member/);
  assert.throws(() => parseFields('a'.repeat(16_385)), AppError);
});

test('a writer that leaves columns out can check each member', () => {
  const projection = parseFields('*,meta.pages')!;
  assert.equal(memberOf(projection, 'title'), true);
  assert.deepEqual(memberOf(projection, 'meta'), parseFields('pages'));
  assert.equal(memberOf(parseFields('id')!, 'title'), undefined);
});
