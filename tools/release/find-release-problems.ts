import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { git } from '../build/git.ts';
import { readNotes } from './release-notes.ts';

/** Where each version stands: a file, and what finds every version in it. */
const versionPlaces: readonly { readonly path: string; readonly pattern: RegExp }[] = [
  ...['package.json', 'kit/package.json', 'dashboard/package.json'].map((path) => ({
    path,
    pattern: /^ {2}"version": "([^"]*)"/gm,
  })),
  // Of the root and of the two workspaces.
  { path: 'package-lock.json', pattern: /^ {2}"version": "([^"]*)"/gm },
  {
    path: 'package-lock.json',
    pattern: /^ {4}"(?:|kit|dashboard)": \{\n(?: {6}"name".*\n)? {6}"version": "([^"]*)"/gm,
  },
  { path: 'deploy/helm/chancery/Chart.yaml', pattern: /^(?:version|appVersion): ['"]?([^'"\s]+)/gm },
  { path: 'Dockerfile', pattern: /image\.version="([^"]*)"/g },
  ...['Dockerfile', 'docker-compose.yml', 'docker-compose.nodes.yml', 'docs/deploying.md'].map((path) => ({
    path,
    pattern: /(?<=image: |-t |\d )chancery:([\w.-]+)/g,
  })),
];

/** Returns why no release of this version can be made of a folder, in sentences; none when it can. */
export function findReleaseProblems(folder: string, version: string): readonly string[] {
  if (!/^\d+\.\d+\.\d+(?:-[\da-z.-]+)?$/i.test(version))
    return [`${version} is not a version: expected one such as 0.1.0 or 0.2.0-rc.1.`];
  const problems = [
    ...treeProblems(folder),
    ...versionProblems(folder, version),
    ...notesProblems(folder, version),
  ];
  return [...new Set(problems)];
}

function treeProblems(folder: string): readonly string[] {
  const status = git(folder, 'status', '--porcelain');
  if (status === undefined) return ['A release is made of a commit, and this is not a git repository.'];
  if (status === '') return [];
  return [`The files are not those of a commit. Commit or remove:\n${status}`];
}

function versionProblems(folder: string, version: string): readonly string[] {
  return versionPlaces.flatMap(({ path, pattern }) => {
    const versions = [...readFileSync(join(folder, path), 'utf8').matchAll(pattern)].map(
      ([, found]) => found,
    );
    if (versions.length === 0) return [`${path} names no version where ${String(pattern)} expects one.`];
    return versions
      .filter((found) => found !== version)
      .map((found) => `${path} names version ${String(found)}, not ${version}.`);
  });
}

function notesProblems(folder: string, version: string): readonly string[] {
  const notes = readNotes(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8'), version);
  return notes === undefined ? [`CHANGELOG.md has no notes below "## ${version}".`] : [];
}
