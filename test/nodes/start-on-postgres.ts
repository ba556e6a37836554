import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startMain, type MainProcess } from '../support/main-process.ts';
import { testKey } from './node-group.ts';

/** A server as an operator starts it. */
export function startOnPostgres(t: TestContext, url: string, flags: readonly string[] = []): MainProcess {
  const args = ['serve', '--port', '0', '--dev', '--postgres', url, ...flags];
  return startMain(t, args, { CHANCERY_KEY: testKey });
}

/** Fails unless a start ends by itself with one line that says so and nothing of a password that holds `sesame`. */
export async function assertRefused(t: TestContext, url: string, says: RegExp): Promise<void> {
  const started = startOnPostgres(t, url);
  await eventually('it ends', () => started.hasEnded || /listens on/.test(started.stdout), 60_000);
  assert.ok(started.hasEnded, 'the server started');
  const { code, stdout, stderr } = await started.ended;
  assert.match(stderr, /^chancery: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.doesNotMatch(stderr, /sesame/);
  // A URL of anything else is a mistake of the command line, and a file that is not there one of the machine.
  assert.equal(code, !url.startsWith('postgres:') ? 64 : stderr.includes('ENOENT') ? 74 : 69);
  assert.equal(stdout, '');
}
