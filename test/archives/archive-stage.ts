import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { openPromise } from 'yauzl';
import { type App, startApp } from '../../src/app.ts';
import { type DataDirectory, openDataDirectory } from '../../src/open-data-directory.ts';
import { readConfig } from '../../src/config/config.ts';
import { atEnd } from '../support/at-end.ts';
import { logInto } from '../support/log-into.ts';
import { openTestPostgres } from '../support/postgres.ts';
import { type CommandResult, runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { masterKey } from '../support/test-config.ts';

export type Engine = 'sqlite' | 'postgres';

/** A place for the data of a service, which commands and servers use. */
export interface DataPlace {
  readonly engine: Engine;
  readonly flags: Readonly<Record<string, string>>;
  readonly key: string;
  /** Runs a command on it, which must succeed, and returns what it prints. */
  run(...args: readonly string[]): Promise<string>;
  /** Runs a command on it. */
  try(...args: readonly string[]): Promise<CommandResult>;
  /** Opens it as a command does. */
  open(t: TestContext): Promise<DataDirectory>;
  serve(t: TestContext): Promise<Pick<App, 'url' | 'stop'>>;
}

export async function makePlace(t: TestContext, engine: Engine, key = masterKey): Promise<DataPlace> {
  const flags: Record<string, string> = { data: join(temporaryFolder(t), 'data') };
  if (engine === 'postgres') {
    const server = await openTestPostgres();
    const url = await server.createDatabase();
    t.after(() => server.dropDatabase(url));
    flags['postgres'] = url;
  }
  const environment = { CHANCERY_KEY: key };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const attempt = (...given: readonly string[]): Promise<CommandResult> =>
    runInProcess([...given, ...args], { environment });
  return {
    engine,
    flags,
    key,
    try: attempt,
    run: async (...given) => {
      const { code, stdout, stderr } = await attempt(...given);
      assert.deepEqual([code, stderr], [0, ''], stdout);
      return stdout;
    },
    open: async (test) => {
      const opened = await openDataDirectory(readConfig({ ...flags, 'log-level': 'error' }, environment), {});
      atEnd(test, () => opened.stop());
      return opened;
    },
    serve: async (test) => {
      const config = readConfig({ ...flags, port: '0', dev: true, 'host-threads': '0' }, environment);
      const app = await startApp(config, { logger: logInto([]) });
      let stopped: Promise<void> | undefined;
      const stop = (): Promise<void> => (stopped ??= app.stop());
      atEnd(test, stop);
      return { url: app.url, stop };
    },
  };
}

export function randomKey(): string {
  return randomBytes(32).toString('hex');
}

/** The content of an archive, as text by the names of its parts. */
export async function readParts(path: string): Promise<Map<string, string>> {
  assert.ok(readFileSync(path).subarray(0, 2).equals(Buffer.from('PK')));
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false });
  const parts = new Map<string, string>();
  for await (const entry of zip.eachEntry())
    parts.set(entry.fileName, (await buffer(await zip.openReadStreamPromise(entry))).toString('latin1'));
  zip.close();
  return parts;
}
