import { listSuperusers } from '../auth/superuser.ts';
import { createLogger, startApp, version, type App } from '../app.ts';
import { readConfig, type Config, type Flags } from '../config.ts';
import type { Logger } from '../base/logger.ts';
import { defaultSlug } from '../instances/instance-directory.ts';

/** Runs the server until a signal asks it to stop; resolves when everything is settled and closed. */
export async function serve(flags: Flags): Promise<void> {
  const config = readConfig(flags);
  const logger = createLogger(config);
  const app = await startApp(config, { logger });
  logger.info(`Chancery ${version} listens on ${app.url}`, { url: app.url });
  await explainFirstSteps(app, config, logger);
  const signal = await stopSignal();
  logger.info(`${signal}: stopping. Requests and webhooks in flight may end; a second signal stops at once.`);
  await app.stop();
  logger.info('Stopped.');
}

async function explainFirstSteps(app: App, config: Config, logger: Logger): Promise<void> {
  const entry = app.data.directory.findBySlug(defaultSlug);
  if (entry === undefined) return;
  const loan = await app.data.instances.borrow(entry);
  const superusers = await listSuperusers(loan.instance);
  loan.release();
  if (superusers.length > 0) return;
  const command = `npm run -s chancery -- superuser upsert EMAIL PASSWORD --data ${config.data}`;
  logger.info(`There is no superuser yet. Make one, while this runs: ${command}`);
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve);
  });
}
