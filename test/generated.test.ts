import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { filesOfTests, generatedFiles, staleFiles, staleMessage } from '../tools/build/generated-files.ts';
import { root } from '../tools/build/root.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const files = generatedFiles();

test('generated files are what npm run generate writes', () => {
  const stale = staleFiles(root, files);
  assert.ok(stale.length === 0, staleMessage(stale));
});

test('.gitattributes marks each generated file but the table of access, which every review looks at', () => {
  const marked = readFileSync(join(root, '.gitattributes'), 'utf8').matchAll(/^(\S+) linguist-generated$/gm);
  const generated = new Set([...files.keys(), ...filesOfTests.keys(), 'package-lock.json']);
  generated.delete('spec/filter-access.json');
  assert.deepEqual(new Set([...marked].map(([, path]) => path)), generated);
});

test('a generated file is stale when it is missing or differs by a byte', (t) => {
  const folder = temporaryFolder(t);
  assert.deepEqual(staleFiles(folder, files), [...files.keys()]);
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  assert.deepEqual(staleFiles(folder, files), []);
  writeFileSync(join(folder, 'spec/postman.json'), `${files.get('spec/postman.json')} `);
  assert.deepEqual(staleFiles(folder, files), ['spec/postman.json']);
});
