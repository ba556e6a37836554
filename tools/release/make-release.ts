import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fetchRuntime } from '../build/fetch-runtime.ts';
import { findRuntime, makeExecutable, type Processor, processors } from '../build/make-executable.ts';
import { makeKit } from '../build/make-kit.ts';
import { makePackage } from '../build/make-package.ts';
import { readCommit } from '../build/read-commit.ts';
import { root } from '../build/root.ts';
import { run } from '../build/run.ts';
import { describeRelease, readNotes } from './release-notes.ts';

/** Makes every file of a release in this folder and returns their paths. The same commit makes the same bytes. */
export async function makeRelease(
  folder: string,
  version: string,
  executables: readonly Processor[] = processors,
): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true });
  await makePackages(folder);
  for (const processor of executables) await addExecutable(folder, processor);
  archiveContext(join(folder, `chancery-container-${version}.tar.gz`));
  // From the folder above it, so that the paths in the archive begin with the name of the chart.
  archive(join(folder, `chancery-helm-${version}.tgz`), ['chancery'], join(root, 'deploy/helm'));
  const notes = readNotes(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  const commit = readCommit();
  assert(notes !== undefined && commit !== undefined, 'a release has notes and a commit');
  writeFileSync(join(folder, 'RELEASE-NOTES.md'), describeRelease(notes, version, commit));
  writeFileSync(join(folder, 'SHA256SUMS'), sumsOf(folder));
  return readdirSync(folder)
    .toSorted()
    .map((name) => join(folder, name));
}

async function makePackages(folder: string): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'chancery-release-'));
  try {
    for (const made of [await makePackage(place), makeKit(place)])
      for (const path of [made.archive, made.billOfMaterials])
        copyFileSync(path, join(folder, basename(path)));
  } finally {
    rmSync(place, { recursive: true });
  }
}

async function addExecutable(folder: string, processor: Processor): Promise<void> {
  if (typeof findRuntime(processor) === 'string') fetchRuntime(processor);
  const runtime = findRuntime(processor);
  if (typeof runtime === 'string') throw new Error(`No executable for ${processor}: ${runtime}.`);
  await makeExecutable(folder, runtime);
}

/** Writes what the Dockerfile is built of: what .dockerignore lets through, and these two files. */
function archiveContext(path: string): void {
  const admitted = readFileSync(join(root, '.dockerignore'), 'utf8').matchAll(/^!(.+)$/gm);
  const paths = [...admitted].map(([, name]) => name ?? '');
  archive(path, ['.dockerignore', 'Dockerfile', ...paths], root);
}

/** Archives paths of the commit. All are of its time, so that two archives are of the same bytes. */
function archive(path: string, names: readonly string[], cwd: string): void {
  run('git', ['archive', '--format=tar.gz', `--output=${path}`, 'HEAD', ...names], { cwd });
}

/** The form that `sha256sum --check` reads. */
function sumsOf(folder: string): string {
  const lines = readdirSync(folder)
    .toSorted()
    .map((name) => {
      const sum = createHash('sha256').update(readFileSync(join(folder, name)));
      return `${sum.digest('hex')}  ${name}\n`;
    });
  return lines.join('');
}
