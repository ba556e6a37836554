import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tuple } from '../database.ts';
import { RowPieces } from './reader-answers.ts';

function piecesOf(rows: readonly Tuple[]): readonly (readonly Tuple[])[] {
  const pieces = new RowPieces(rows);
  const all: (readonly Tuple[])[] = [];
  for (;;) {
    const piece = pieces.next();
    all.push(piece.rows);
    if (piece.isLast) return all;
  }
}

test('rows are sent in pieces that together are all of them, each once and in their order', () => {
  for (const count of [0, 1, 999, 1_000, 1_001, 25_000]) {
    const rows = Array.from({ length: count }, (_, number): Tuple => [number, 'text', null]);
    assert.deepEqual(piecesOf(rows).flat(), rows);
  }
});

test('a piece has a limited number of rows, and ends with the row that makes it large', () => {
  const small = piecesOf(Array.from({ length: 5_000 }, (): Tuple => [1]));
  assert.deepEqual(
    small.map(({ length }) => length),
    [1_000, 1_000, 1_000, 1_000, 1_000],
  );
  const text = 'x'.repeat(100_000);
  const large = piecesOf([[text], [new Uint8Array(100_000)], [text], [text], [text]]);
  assert.deepEqual(
    large.map(({ length }) => length),
    [3, 2],
  );
  assert.equal(piecesOf([['x'.repeat(10_000_000)], [1]]).length, 2);
});
