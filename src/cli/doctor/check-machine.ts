import { open, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Config } from '../../config/config.ts';
import { certificateEnd } from '../../secrets/read-certificates.ts';
import { type InspectedFile, inspectDirectory } from '../../storage/sqlite/inspect-directory.ts';
import type { Check } from './checks.ts';
import { durationText } from '../terminal/duration-text.ts';
import { operatorMessage } from '../terminal/exit-code.ts';

const nodeMin = [24, 15] as const;

/** Checks the Node that runs this. */
export function checkNode(version = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1]);
  const message = `Node ${version}.`;
  if (isEnough) return { name: 'node', state: 'ok', message };
  return { name: 'node', state: 'failure', message, advice: `Use Node ${nodeMin.join('.')} or newer.` };
}

const gib = 1024 ** 3;
const freeFailure = gib / 10;
const freeWarning = gib;

/** Checks how much room there is where a folder is. */
export async function checkSpace(folder: string): Promise<Check> {
  const { bavail, bsize, blocks } = await statfs(folder);
  const [free, all] = [bavail * bsize, blocks * bsize];
  const message = `${sizeText(free)} of ${sizeText(all)} are free in ${folder}.`;
  const state = free < freeFailure ? 'failure' : free < freeWarning ? 'warning' : 'ok';
  const advice = 'Without room nothing can be written: make some, or move the data to a larger disk.';
  return { name: 'disk space', state, message, ...(state !== 'ok' && { advice }) };
}

function sizeText(bytes: number): string {
  return bytes < gib ? `${Math.floor(bytes / 1024 ** 2)} MiB` : `${(bytes / gib).toFixed(1)} GiB`;
}

const syncRounds = 15;
const syncWarningMs = 20;

/** Measures how long a small write takes to be on the disk, as each commit waits for it. Leaves nothing behind. */
export async function checkSync(folder: string): Promise<Check> {
  const path = join(folder, `.sync-${newId()}`);
  const file = await open(path, 'wx', 0o600);
  const times: number[] = [];
  try {
    for (let round = 0; round < syncRounds; round += 1) {
      const begin = systemClock.monotonic();
      await file.write(Buffer.alloc(4_096, round), 0, 4_096, round * 4_096);
      await file.datasync();
      times.push(systemClock.monotonic() - begin);
    }
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
  const median = times.toSorted((one, other) => one - other)[Math.floor(syncRounds / 2)] ?? 0;
  const message = `A write is on the disk after ${median.toFixed(1)} ms.`;
  if (median <= syncWarningMs) return { name: 'disk sync', state: 'ok', message };
  const advice = 'Every commit waits for it: use a disk with a write cache that survives a power failure.';
  return { name: 'disk sync', state: 'warning', message, advice };
}

/** Checks the files of a data directory without changing them: whether they are whole, and of this version. */
export function checkFiles(directory: string): readonly Check[] {
  const files = inspectDirectory(directory);
  return [checkIntegrity(files), checkMigrations(files)];
}

function checkIntegrity(files: readonly InspectedFile[]): Check {
  const name = 'database';
  const damaged = files.filter(({ problem }) => problem !== undefined);
  const [first] = damaged;
  if (first === undefined) return { name, state: 'ok', message: `${countText(files.length)}, all whole.` };
  const others = damaged.length === 1 ? '' : ` So are ${damaged.length - 1} others.`;
  const message = `${first.name} is damaged: ${first.problem}.${others}`;
  return {
    name,
    state: 'failure',
    message,
    advice: 'Stop the server, keep a copy of the files as they are, and restore a backup.',
  };
}

function checkMigrations(files: readonly InspectedFile[]): Check {
  const name = 'migrations';
  const whole = files.filter(({ problem }) => problem === undefined);
  const newer = whole.filter(({ steps, currentSteps }) => steps > currentSteps);
  const older = whole.filter(({ steps, currentSteps }) => steps < currentSteps);
  if (newer.length > 0)
    return {
      name,
      state: 'warning',
      message: `${countText(newer.length)} of a newer version than this one.`,
      advice: 'Use the newer version: this one may refuse the data.',
    };
  if (older.length === 0) return { name, state: 'ok', message: 'All files are of this version.' };
  return {
    name,
    state: 'warning',
    message: `${countText(older.length)} of an older version than this one.`,
    advice: 'The next start, or any other command, upgrades them, after a copy of each.',
  };
}

function countText(count: number): string {
  return count === 1 ? '1 file' : `${count} files`;
}

/** Checks the certificate that this machine is to serve; undefined where it serves none. */
export async function checkOwnCertificate({ tls }: Pick<Config, 'tls'>): Promise<Check | undefined> {
  if (tls === undefined) return undefined;
  try {
    return checkCertificateEnd(certificateEnd(await readFile(tls.certificate)));
  } catch (error) {
    const [reason = ''] = operatorMessage(error).split('\n', 1);
    const message = `${tls.certificate} cannot be used: ${reason.replace(/\.$/, '')}.`;
    return { name: 'certificate', state: 'failure', message, advice: 'Give the chain in PEM by --tls-cert.' };
  }
}

const certificateWarningSeconds = 14 * 86_400;

/** Checks the end of a certificate, in milliseconds since 1970. */
export function checkCertificateEnd(end: number): Check {
  const name = 'certificate';
  const left = Math.floor((end - systemClock.now()) / 1_000);
  const date = new Date(end).toISOString().slice(0, 10);
  if (left <= 0)
    return {
      name,
      state: 'failure',
      message: `It has expired on ${date}.`,
      advice: 'Renew it: clients refuse it.',
    };
  const message = `It is valid for ${durationText(left)}, until ${date}.`;
  if (left > certificateWarningSeconds) return { name, state: 'ok', message };
  return {
    name,
    state: 'warning',
    message,
    advice: 'Renew it, and see why that has not happened by itself.',
  };
}
