import type { TestContext } from 'node:test';
import { type App, startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { atEnd } from './at-end.ts';
import { logInto } from './log-into.ts';

export interface ServingApp extends App {
  /** The warnings and errors that it has logged. */
  readonly log: readonly string[];
}

/** Starts the server in this process over a data directory, as `serve` does. It is stopped when the test ends. */
export async function serveInProcess(t: TestContext, data: string): Promise<ServingApp> {
  const log: string[] = [];
  const app = await startApp(readConfig({ data, port: '0', dev: true }, {}), { logger: logInto(log) });
  atEnd(t, () => app.stop());
  return { ...app, log };
}
