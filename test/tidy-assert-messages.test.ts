import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTree } from '../tools/tidy/check-tree.ts';

function breaches(code: string, path = 'src/records/record.ts'): readonly string[] {
  const text = `export function record(): void {\n${code}\n}\n`;
  return checkTree([{ path, text }]).map(({ line, rule }) => `${line} ${rule}`);
}

test('the message of an assertion begins with a subject', () => {
  for (const message of [
    `'asks something'`,
    `'nothing is given back'`,
    `'what is sealed survives'`,
    `'the end'`,
    `'whole milliseconds'`,
    '`is named ${name}`',
    `"there is a way"`,
  ]) {
    assert.deepEqual(breaches(`assert(is(a, [b, 'c']), ${message});`), ['2 assert-message'], message);
    assert.deepEqual(breaches(`assert(\n  a,\n  ${message},\n);`), ['4 assert-message'], message);
  }
});

test('a sentence, and a message that is made elsewhere, are accepted', () => {
  for (const message of [
    `'an empty rule has no condition'`,
    `'no rule is empty'`,
    '`the field ${name} has a column`',
    '`every ${name} has a column`',
    '`${name} has a column`',
    `'reader-worker.ts runs as a worker'`,
    'message',
    'messageOf(rule)',
  ])
    assert.deepEqual(breaches(`assert(a, ${message});`), [], message);
});

test('tests and tools write what their readers see beside the line', () => {
  for (const path of ['test/api/record.test.ts', 'src/records/record.test.ts', 'tools/record.ts'])
    assert.deepEqual(breaches(`assert(a, 'whole milliseconds');`, path), [], path);
});
