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

test('excerpts and unknown modifiers are refused', () => {
  assert.throws(() => parseFields('id,title:excerpt(10,true)'), /":excerpt" is not supported yet/);
  assert.throws(() => parseFields('title:upper'), /Expected no modifier but ":excerpt"/);
  assert.throws(() => parseFields('a'.repeat(16_385)), AppError);
});

test('a writer that leaves columns out can ask for each member', () => {
  const projection = parseFields('*,meta.pages')!;
  assert.equal(memberOf(projection, 'title'), true);
  assert.deepEqual(memberOf(projection, 'meta'), parseFields('pages'));
  assert.equal(memberOf(parseFields('id')!, 'title'), undefined);
});
