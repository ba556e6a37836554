import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId, newRecordId, newTimeOrderedId } from './ids.ts';

test('ids are made of 15 characters, and those of records begin with the time', () => {
  const at = Date.UTC(2026, 10, 22, 1, 2, 3);
  for (const id of [newId(), newRecordId(at), newRecordId(0), newRecordId(Date.UTC(2127, 11, 31))])
    assert.match(id, /^[a-z0-9]{15}$/);
  // Steps of 64 ms: beyond them the order of the texts is the order in time, as long as the digits last.
  const moments = [0, 64, at, at + 64, at + 3_600_000, Date.UTC(2100, 0), Date.UTC(2128, 0)];
  const ids = moments.map(newRecordId);
  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(newRecordId(at).slice(0, 7), newRecordId(at + 63 - (at % 64)).slice(0, 7));
  assert.ok(newTimeOrderedId(at) < newTimeOrderedId(at + 1));
});

test('ids of one moment differ in their random part', () => {
  const tails = Array.from({ length: 2_000 }, () => newRecordId(1_000).slice(7));
  assert.equal(new Set(tails).size, tails.length);
  for (let at = 0; at < 8; at += 1)
    assert.ok(new Set(tails.map((tail) => tail[at])).size === 36, `character ${at}`);
});
