import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../tools/build/root.ts';

const lines = readFileSync(join(root, 'llms.txt'), 'utf8').split('\n');
const links = lines.filter((line) => line.startsWith('- '));
const paths = links.map((line) => /^- \[[^\]]+\]\(([^)]+)\): [^ ].*\.$/.exec(line)?.[1] ?? '');

test('llms.txt has the form of llmstxt.org: a title, a summary, and sections of links with a sentence each', () => {
  const [title, blank, summary] = lines;
  assert.match(title ?? '', /^# \S/);
  assert.equal(blank, '');
  assert.match(summary ?? '', /^> \S/);
  assert.deepEqual(
    lines.filter((line) => /^#{3,}|^# /.test(line)),
    [title],
  );
  const first = lines.findIndex((line) => line.startsWith('## '));
  assert.ok(links.every((line) => lines.indexOf(line) > first));
  for (const line of lines.slice(first)) assert.match(line, /^$|^## \S|^- /);
  for (const [index, path] of paths.entries()) assert.notEqual(path, '', links[index] ?? '');
});

test('each link of llms.txt leads to a file, once', () => {
  for (const path of paths) assert.ok(existsSync(join(root, path)), path);
  assert.equal(new Set(paths).size, paths.length);
});

test('llms.txt links every page of the documentation', () => {
  const pages = [
    ...globSync('docs/*.md', { cwd: root }),
    ...globSync('{docs,kit,examples}/**/README.md', { cwd: root }),
  ];
  const ours = pages.filter((page) => !page.includes('node_modules') && !/^examples\/.+\/README/.test(page));
  assert.ok(ours.length > 20);
  for (const page of ours) assert.ok(paths.includes(page), page);
});
