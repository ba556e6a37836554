import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../tools/build/root.ts';
import { parseDockerfile } from '../support/dockerfile.ts';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Every image that others make, as it is named. */
function foreignImages(): ReadonlySet<string> {
  const dockerfile = read('Dockerfile');
  const [, syntax = ''] = /^# syntax=(\S+)/.exec(dockerfile) ?? [];
  const bases = parseDockerfile(dockerfile).stages.map(({ image }) => image);
  const ofCompose = ['docker-compose.yml', 'docker-compose.nodes.yml'].flatMap((path) =>
    [...read(path).matchAll(/^\s*image:\s*['"]?([^\s'"]+)/gm)].map(([, image = '']) => image),
  );
  return new Set([syntax, ...bases, ...ofCompose].filter((image) => !image.startsWith('chancery:')));
}

const isPinned = (image: string): boolean => /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image);

test('each image that others make is named by its digest, or SECURITY.md says that it is not', () => {
  const [, section = ''] = /^## Container images\n(.*?)(?=^## |$(?![^]))/ms.exec(read('SECURITY.md')) ?? [];
  const excepted = [...section.matchAll(/^- `([^`]+)`/gm)].map(([, image = '']) => image);
  const images = foreignImages();
  assert.ok(images.size >= 4, [...images].join(', '));
  assert.deepEqual(
    [...images].filter((image) => !isPinned(image)).toSorted(),
    excepted.toSorted(),
    'by version alone, and named in SECURITY.md',
  );
});

test('a digest is one of SHA-256', () => {
  const digest = 'sha256:'.padEnd(71, '0a');
  for (const image of [`node:26@${digest}`, `docker/dockerfile:1@${digest}`])
    assert.ok(isPinned(image), image);
  for (const image of [
    'node:26',
    'node',
    `node@${digest}`,
    `node:26@${digest.slice(0, -1)}`,
    'node:26@sha256:latest',
  ])
    assert.ok(!isPinned(image), image);
});
