import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { root } from '../tools/build/root.ts';

const exclude = ['**/node_modules/**', '**/dist/**'];
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const find = (...patterns: readonly string[]): readonly string[] =>
  globSync(patterns, { cwd: root, exclude }).toSorted();

const pages = find('*.md', 'llms.txt', 'docs/**/*.md', 'kit/**/*.md', 'examples/**/*.md', 'spec/**/*.md');
/** Files that name pages by their path from the root, in comments, errors and descriptions. */
const sources = find(
  '{src,dashboard,kit,test,tools,bench,deploy,examples}/**/*.{ts,js,mjs,json,yml,yaml,service,css,html}',
  'spec/*.json',
  'Dockerfile',
  'docker-compose*.yml',
);

const anchorsByPage = new Map(pages.map((page) => [page, anchorsOf(read(page))]));

/** Returns what a link may name behind `#`: headings as GitHub writes them, and elements with an id. */
function anchorsOf(text: string): ReadonlySet<string> {
  const prose = withoutBlocks(text);
  const counts = new Map<string, number>();
  const headings = [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) => {
    const slug = slugOf(title);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  const ids = [...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  return new Set([...headings, ...ids]);
}

function slugOf(title: string): string {
  const shown = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  return shown.replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '').replaceAll(' ', '-');
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^( *)```.*?^\1```$/gms, '');
}

/** Returns why a link to a path with an optional anchor leads nowhere; undefined if it leads somewhere. */
function problemOf(path: string, anchor: string): string | undefined {
  if (!existsSync(join(root, path))) return 'no such file';
  if (anchor === '' || statSync(join(root, path)).isDirectory()) return undefined;
  const anchors = anchorsByPage.get(path);
  if (anchors === undefined) return undefined;
  return anchors.has(anchor) ? undefined : 'no such heading';
}

test('every link of a page leads to a file, and to a heading of it', () => {
  let count = 0;
  const broken: string[] = [];
  for (const page of pages)
    for (const [target] of withoutBlocks(read(page)).matchAll(/(?<=\]\(|src="|srcset=")[^()\s"]+(?=[)"])/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      count += 1;
      const [path = '', anchor = ''] = target.split('#');
      const place = path === '' ? page : normalize(join(dirname(page), path));
      const problem = problemOf(place, anchor);
      if (problem !== undefined) broken.push(`${page}: ${target}: ${problem}`);
    }
  assert.ok(count > 500, String(count));
  assert.deepEqual(broken, []);
});

test('every page that code, settings and descriptions name exists, with its heading', () => {
  let count = 0;
  const broken: string[] = [];
  for (const source of sources)
    for (const [, path = '', anchor = ''] of read(source).matchAll(
      /(?<![\w/.-])(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g,
    )) {
      count += 1;
      const problem = problemOf(path, anchor);
      if (problem !== undefined) broken.push(`${source}: ${path}#${anchor}: ${problem}`);
    }
  assert.ok(count > 50, String(count));
  assert.deepEqual(broken, []);
});

test('a link to a missing heading or file is noticed', () => {
  assert.equal(problemOf('docs/README.md', 'nowhere'), 'no such heading');
  assert.equal(problemOf('nowhere.md', ''), 'no such file');
  assert.ok(anchorsOf('# A `b` & [c](d.md)\n## E\n```\n## F\n```\n## E\n').has('a-b--c'));
  assert.deepEqual([...anchorsOf('## E\n```sh\n## F\n```\n## E\n')], ['e', 'e-1']);
});
