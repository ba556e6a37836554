import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTree } from '../tools/tidy/check-tree.ts';

/** The rules that a file of src/ with this import breaks. */
function breaches(path: string, specifier: string): readonly string[] {
  const stem = path.replace(/^.*\//, '').replace(/\.ts$/, '');
  const text = `import type { X } from '${specifier}';\nexport type ${stem} = X;\n`;
  return checkTree([{ path, text }]).map(({ rule }) => rule);
}

const webhookParts = ['sending', 'endpoints', 'deliveries', 'dispatch'];

test('readers of the event log do not know each other, and webhooks know no records', () => {
  for (const part of webhookParts)
    for (const file of ['create-record', 'read-record', 'batch'])
      assert.deepEqual(breaches(`src/${part}/replay.ts`, `../records/${file}.ts`), ['import-order']);
  for (const reader of [...webhookParts, 'realtime'])
    assert.deepEqual(breaches(`src/${reader}/replay.ts`, '../events/event-log.ts'), []);
  for (const part of webhookParts) {
    assert.deepEqual(breaches(`src/${part}/replay.ts`, '../realtime/feed.ts'), ['import-order']);
    assert.deepEqual(breaches('src/realtime/feed.ts', `../${part}/replay.ts`), ['import-order']);
  }
});

test('sending knows no endpoints, endpoints no deliveries, and deliveries not who sends them', () => {
  for (const [index, part] of webhookParts.entries())
    for (const later of webhookParts.slice(index + 1)) {
      assert.deepEqual(breaches(`src/${part}/replay.ts`, `../${later}/replay.ts`), ['import-order']);
      assert.deepEqual(breaches(`src/${later}/replay.ts`, `../${part}/replay.ts`), []);
    }
});
