import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thumbShape } from './thumb-size.ts';

function shapeOf(text: string, width: number, height: number): string {
  const shape = thumbShape(text, { width, height }, 1_000_000);
  return shape === undefined ? 'none' : `${shape.width}x${shape.height} ${shape.fit} ${shape.position}`;
}

test('a thumb is cut, made to fit, or follows one side', () => {
  assert.equal(shapeOf('100x50', 400, 400), '100x50 cover centre');
  assert.equal(shapeOf('100x50t', 400, 400), '100x50 cover top');
  assert.equal(shapeOf('100x50b', 400, 400), '100x50 cover bottom');
  assert.equal(shapeOf('100x50f', 400, 100), '100x25 fill centre');
  assert.equal(shapeOf('100x50f', 100, 400), '13x50 fill centre');
  assert.equal(shapeOf('100x50f', 10, 10), '10x10 fill centre');
  assert.equal(shapeOf('100x0', 400, 200), '100x50 fill centre');
  assert.equal(shapeOf('0x100', 400, 200), '200x100 fill centre');
  assert.equal(shapeOf('800x0', 400, 200), '800x400 fill centre');
  assert.equal(shapeOf('0x100t', 400, 200), '200x100 fill centre');
  assert.equal(shapeOf('1x0', 100, 1), '1x1 fill centre');
});

test('a thumb of too many pixels is none, whichever side says so', () => {
  assert.equal(shapeOf('1000x1000', 1, 1), '1000x1000 cover centre');
  assert.equal(shapeOf('1001x1000', 1, 1), 'none');
  assert.equal(shapeOf('99999x99999', 1, 1), 'none');
  assert.equal(shapeOf('100x0', 1, 49_000_000), 'none');
  assert.equal(shapeOf('0x100', 49_000_000, 1), 'none');
  assert.equal(shapeOf('99999x99999f', 400, 400), '400x400 fill centre');
});

test('F-15 an invalid thumb size is ignored', () => {
  for (const text of [
    '',
    '0x0',
    '-1',
    '100',
    '100x',
    'x100',
    '1e9x1',
    '999999x999999',
    '100x100x',
    ' 100x100',
    '100x100\n',
  ])
    assert.equal(shapeOf(text, 10, 10), 'none', JSON.stringify(text));
});
