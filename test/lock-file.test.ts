import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface LockEntry {
  readonly link?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
}

// The cast holds: npm writes the file.
const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockEntry>>;
};

/** What `npm ci` gets from a registry: all but the folders of this repository. */
const packages = Object.entries(lock.packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && link !== true,
);

test('the checksum of every package is known before it is installed, for each platform', () => {
  assert.ok(packages.length > 500);
  for (const [path, { integrity }] of packages)
    assert.match(integrity ?? '', /^sha512-[\w+/]{86}==$/, `${path}: npm run fix-lock`);
});

test('each installation chooses its registry itself', () => {
  for (const [path, { resolved }] of packages) assert.equal(resolved, undefined, path);
});
