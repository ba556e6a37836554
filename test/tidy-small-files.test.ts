import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSmallFiles } from '../tools/tidy/small-files.ts';
import { sourceFile } from '../tools/tidy/source-file.ts';

/** A file of so many lines with these first lines. */
function fileOf(lines: number, ...first: readonly string[]): string {
  return [...first, ...Array.from({ length: lines - first.length }, () => '//'), ''].join('\n');
}

const small = fileOf(29, 'export const text = 1;');
const large = (specifier: string, lines = 100): string =>
  fileOf(lines, `import { text } from '${specifier}';`);

function refused(tree: Readonly<Record<string, string>>): readonly string[] {
  const files = Object.entries(tree).map(([path, text]) => sourceFile({ path, text }));
  return checkSmallFiles(files).map(({ path }) => path);
}

test('a small file that only one of its room imports is refused, also where it imports a type alone', () => {
  const tree = { 'src/mail/text.ts': small, 'src/mail/mailer.ts': large('./text.ts') };
  assert.deepEqual(refused(tree), ['src/mail/text.ts']);
  const type = fileOf(100, `import type { Text } from '../text.ts';`);
  assert.deepEqual(refused({ 'src/mail/text.ts': small, 'src/mail/smtp/mailer.ts': type }), [
    'src/mail/text.ts',
  ]);
  const tests = {
    'src/mail/text.test.ts': large('./text.ts'),
    'test/support/mail.ts': large('../../src/mail/text.ts'),
  };
  assert.deepEqual(refused({ ...tree, ...tests }), ['src/mail/text.ts']);
});

test('thirty lines, a second importer, one of another room, and one without space are accepted', () => {
  const mailer = large('./text.ts');
  assert.deepEqual(
    refused({ 'src/mail/text.ts': small, 'src/mail/mailer.ts': mailer, 'src/mail/queue.ts': mailer }),
    [],
  );
  assert.deepEqual(refused({ 'src/mail/text.ts': fileOf(30), 'src/mail/mailer.ts': mailer }), []);
  assert.deepEqual(
    refused({ 'src/mail/text.ts': small, 'src/auth/mailer.ts': large('../mail/text.ts') }),
    [],
  );
  assert.deepEqual(refused({ 'src/mail/text.ts': small, 'src/mail/mailer.ts': large('./text.ts', 372) }), []);
  assert.deepEqual(refused({ 'src/mail/text.ts': small, 'src/mail/mailer.ts': large('./text.ts', 371) }), [
    'src/mail/text.ts',
  ]);
});

test('what must be a file of its own is accepted', () => {
  const lazy = fileOf(100, `const { text } = await import('./text.ts');`);
  assert.deepEqual(refused({ 'src/mail/text.ts': small, 'src/mail/mailer.ts': lazy }), []);
  assert.deepEqual(refused({ 'src/mail/text.ts': small, 'src/mail/mail-worker.ts': large('./text.ts') }), []);
  assert.deepEqual(
    refused({
      'src/storage/migrations/text.ts': small,
      'src/storage/migrations/steps.ts': large('./text.ts'),
    }),
    [],
  );
});
