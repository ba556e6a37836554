import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../tools/build/root.ts';
import { generators, versionOf } from './generators/generators.ts';
import { readDocBlocks } from './support/doc-blocks.ts';

const page = 'docs/clients.md';

test('the code of docs/clients.md is that of the programs that npm run generators runs', () => {
  const programs = { ts: 'openapi-typescript.ts', go: 'go/main.go' };
  for (const [language, file] of Object.entries(programs)) {
    const [block, ...more] = readDocBlocks().filter(
      (each) => each.page === page && each.language === language,
    );
    assert.ok(block !== undefined && more.length === 0, language);
    const program = readFileSync(join(root, 'test/generators/clients', file), 'utf8').split('\n');
    const lines = new Set(program.map((line) => line.trim()));
    assert.deepEqual(
      block.text.split('\n').filter((line) => !lines.has(line.trim())),
      [],
      file,
    );
  }
});

test('docs/clients.md has a row for each generator, with the version that was tried', () => {
  const rows = readFileSync(join(root, page), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  for (const generator of generators) {
    const name =
      generator.package === 'openapi-generator-cli' ? `, ${generator.name} ` : `| ${generator.package}`;
    const row = rows.filter((line) => line.startsWith(`| ${generator.package}`) && line.includes(name));
    assert.equal(row.length, 1, generator.name);
    assert.match(row[0] ?? '', new RegExp(`\\| ${versionOf(generator).replaceAll('.', '\\.')} +\\|`));
  }
});
