import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { git } from '../../tools/build/git.ts';
import { describePackage, root } from '../../tools/build/root.ts';
import { run } from '../../tools/build/run.ts';
import { findReleaseProblems } from '../../tools/release/find-release-problems.ts';
import { makeRelease } from '../../tools/release/make-release.ts';
import { describeRelease, readNotes } from '../../tools/release/release-notes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { version } = describePackage();
const isCheckout = { skip: git(root, 'rev-parse', 'HEAD') === undefined && 'not run: no git repository' };
const versionFiles =
  `package.json kit/package.json dashboard/package.json package-lock.json Dockerfile docker-compose.yml docker-compose.nodes.yml
   deploy/helm/chancery/Chart.yaml docs/deploying.md CHANGELOG.md`.split(/\s+/);

/** A repository with one commit of what a release is checked by. */
function repository(t: TestContext): string {
  const folder = temporaryFolder(t);
  for (const path of versionFiles) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), readFileSync(join(root, path)));
  }
  run('git', ['init', '--quiet'], { cwd: folder });
  commitAll(folder);
  return folder;
}

function commitAll(folder: string): void {
  run('git', ['add', '.'], { cwd: folder });
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false'];
  run('git', [...author, 'commit', '--quiet', '--message', 'Add files'], { cwd: folder });
}

function replaceIn(path: string, text: string, other: string): void {
  const before = readFileSync(path, 'utf8');
  assert.ok(before.includes(text), `${path} has ${text}`);
  writeFileSync(path, before.replace(text, other));
}

test('a commit whose versions and notes are those of the release has no problem', (t) => {
  assert.deepEqual(findReleaseProblems(repository(t), version), []);
});

test('a tree that is not that of a commit is refused', (t) => {
  const folder = repository(t);
  writeFileSync(join(folder, 'new.txt'), '');
  assert.match(
    findReleaseProblems(folder, version).join('\n'),
    /^The files are not those of a commit.*\?\? new\.txt$/s,
  );
  assert.match(
    findReleaseProblems(temporaryTreeWithout(t, folder), version).join('\n'),
    /not a git repository/,
  );
});

/** The same files, of no repository. */
function temporaryTreeWithout(t: TestContext, folder: string): string {
  const copy = temporaryFolder(t);
  run('git', ['checkout-index', '--all', `--prefix=${copy}/`], { cwd: folder });
  return copy;
}

test('a version that differs from the others is named with its file, wherever it stands', (t) => {
  const changes = [
    ['package.json', `"version": "${version}"`, '"version": "9.9.9"'],
    ['kit/package.json', `"version": "${version}"`, '"version": "9.9.9"'],
    ['deploy/helm/chancery/Chart.yaml', `appVersion: ${version}`, 'appVersion: 9.9.9'],
    ['Dockerfile', `image.version="${version}"`, 'image.version="9.9.9"'],
    ['docker-compose.yml', `image: chancery:${version}`, 'image: chancery:9.9.9'],
    ['docs/deploying.md', `-t chancery:${version}`, '-t chancery:9.9.9'],
  ] as const;
  const folder = repository(t);
  for (const [path, text, other] of changes) replaceIn(join(folder, path), text, other);
  commitAll(folder);
  assert.deepEqual(
    findReleaseProblems(folder, version),
    changes.map(([path]) => `${path} names version 9.9.9, not ${version}.`),
  );
});

test('a version without notes, or that is no version, is refused', (t) => {
  const folder = repository(t);
  replaceIn(join(folder, 'CHANGELOG.md'), `## ${version}`, '## 0.0.9');
  commitAll(folder);
  assert.deepEqual(findReleaseProblems(folder, version), [
    `CHANGELOG.md has no notes below "## ${version}".`,
  ]);
  for (const wrong of ['v0.1.0', '1', '../up'])
    assert.match(findReleaseProblems(folder, wrong).join('\n'), /is not a version/);
});

test('notes are those of their version alone, and headings are no notes', () => {
  const changelog =
    '# Changelog\n\n## 0.2.0\n\n### Records\n\n- New.\n\n## 0.1.0\n\n- Old.\n\n## 0.0.1\n\n### Records\n';
  assert.equal(readNotes(changelog, '0.2.0'), '### Records\n\n- New.');
  assert.equal(readNotes(changelog, '0.1.0'), '- Old.');
  for (const empty of ['0.0.1', '0.1', '0.2.0-rc.1'])
    assert.equal(readNotes(changelog, empty), undefined, empty);
});

test('the command explains itself when it is called without a version or --dry-run', () => {
  for (const args of [[], [version], ['--dry-run']]) {
    const { status, stderr } = spawnSync(process.execPath, ['tools/release.ts', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.deepEqual([status, stderr], [64, 'Usage: npm run release -- VERSION --dry-run\n']);
  }
});

// The executables are tested by executable.test.ts: each takes 120 MB.
test(
  'a release is packages, a container context, a chart, bills of materials, notes and checksums',
  isCheckout,
  async (t) => {
    const folder = join(temporaryFolder(t), 'release');
    const names = (await makeRelease(folder, version, [])).map((path) => basename(path));
    const expected = [
      'chancery-V.cdx.json',
      'chancery-V.tgz',
      'chancery-container-V.tar.gz',
      'chancery-helm-V.tgz',
    ];
    const kit = ['chancery-webhooks-V.cdx.json', 'chancery-webhooks-V.tgz'];
    assert.deepEqual(
      names,
      [...expected, ...kit, 'RELEASE-NOTES.md', 'SHA256SUMS']
        .map((name) => name.replace('V', version))
        .toSorted(),
    );
    run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder });
    assert.equal(readFileSync(join(folder, 'SHA256SUMS'), 'utf8').split('\n').length, names.length);
    for (const name of [`chancery-${version}.tgz`, `chancery-webhooks-${version}.tgz`]) {
      const text = run('tar', ['-xzOf', name, 'package/package.json'], { cwd: folder });
      // npm packs no package.json but objects.
      const description = JSON.parse(text) as Readonly<Record<string, unknown>>;
      assert.deepEqual(description['publishConfig'], { access: 'public', provenance: true }, name);
      assert.deepEqual([description['private'], description['version']], [undefined, version], name);
    }
    const chart = run('tar', ['-xzOf', `chancery-helm-${version}.tgz`, 'chancery/Chart.yaml'], {
      cwd: folder,
    });
    // Our own file.
    assert.equal((parse(chart) as { readonly version: string }).version, version);
    const context = run('tar', ['-tzf', `chancery-container-${version}.tar.gz`], { cwd: folder }).split('\n');
    for (const path of [
      'Dockerfile',
      '.dockerignore',
      'package-lock.json',
      'src/main.ts',
      'deploy/healthcheck.mjs',
    ])
      assert.ok(context.includes(path), path);
    assert.ok(!context.some((path) => path.startsWith('test/')), 'no tests in the context');
    appendFileSync(join(folder, 'RELEASE-NOTES.md'), 'x');
    assert.notEqual(spawnSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder }).status, 0);
  },
);

test('the notes name every file of a release', () => {
  const notes = describeRelease('- New.', version, {
    name: 'a'.repeat(40),
    time: '2026-11-28T21:00:00.000Z',
  });
  for (const part of [
    '- New.',
    'chancery-linux-arm64',
    'SOURCE_DATE_EPOCH=1795899600 ',
    'build:executable -- here',
  ])
    assert.ok(notes.includes(part), part);
});
