import { Command } from 'commander';
import { issueSetupToken, setupLimits } from '../auth/set-up.ts';
import { type App, startApp, version } from '../app.ts';
import { commandName } from '../base/build.ts';
import { createLogger } from '../base/create-logger.ts';
import type { Config } from '../config.ts';
import { dataFlags, serverFlags } from '../config-flags.ts';
import { releaseMemoryWhenIdle } from '../base/process.ts';
import type { Logger } from '../base/logger.ts';
import { defaultSlug, type InstanceEntry } from '../instances/instance-directory.ts';
import { operatorMessage } from './exit-code.ts';
import { addFlags, configOf } from './flags.ts';
import type { CommandIo } from './print.ts';

/** `serve` */
export function serveCommand(io: CommandIo): Command {
  const command = new Command('serve').description('run the server');
  addFlags(command, [...dataFlags, ...serverFlags]);
  command.action(async () => serve(configOf(command, io)));
  return command;
}

/** Runs the server until a signal asks it to stop; resolves when everything is settled and closed. */
async function serve(config: Config): Promise<void> {
  const logger = createLogger(config);
  // Listens first: a signal during the start would otherwise end the process without a stop.
  const stopAsked = stopSignal();
  const app = await startApp(config, { logger });
  logger.info(`Chancery ${version} listens on ${app.url}`, { url: app.url });
  await explainFirstSteps(app, config, logger);
  releaseMemoryWhenIdle();
  const signal = await stopAsked;
  logger.info(`${signal}: stopping. Requests and webhooks in flight may end; a second signal stops at once.`);
  await app.stop();
  logger.info('Stopped.');
}

/** Explains how to make the first superuser of the default instance. Other instances are made by operators, who have the command line. */
async function explainFirstSteps(app: App, config: Config, logger: Logger): Promise<void> {
  const entry = app.data.directory.findBySlug(defaultSlug);
  // With strict hosts, a default instance without a host cannot be reached.
  if (entry === undefined || (config.strictHosts && entry.host === null)) return;
  try {
    tellFirstSteps(await findSetupToken(app, entry), { url: app.url, config, logger });
  } catch (error) {
    // A broken instance must not end the server, which serves all the others by now.
    const members = { instance: entry.id, error };
    logger.error(`The instance ${entry.slug} cannot be used: ${operatorMessage(error)}`, members);
  }
}

async function findSetupToken(app: App, entry: InstanceEntry): Promise<string | undefined> {
  const loan = await app.data.instances.borrow(entry);
  return issueSetupToken(loan.instance).finally(() => loan.release());
}

interface FirstSteps {
  readonly url: string;
  readonly config: Config;
  readonly logger: Logger;
}

function tellFirstSteps(token: string | undefined, { url, config, logger }: FirstSteps): void {
  if (token === undefined) return;
  const command = `${commandName} superuser upsert EMAIL PASSWORD${placeOf(config)}`;
  logger.info(`There is no superuser yet. Make one, while this runs: ${command}`);
  const minutes = setupLimits.tokenMs / 60_000;
  // A form, which has no character that a log of JSON lines would escape.
  const account = ['email=EMAIL', 'password=PASSWORD', 'passwordConfirm=PASSWORD'];
  const fields = [`token=${token}`, ...account].map((field) => `--data-urlencode ${field}`).join(' ');
  logger.info(`Or from elsewhere, once and within ${minutes} minutes: curl ${url}/api/setup ${fields}`);
}

/** Names the data for a command line. The URL of a database is left out, as it may hold a password. */
function placeOf({ postgres, data }: Config): string {
  return postgres === undefined
    ? ` --data ${data}`
    : ' (with the variables CHANCERY_POSTGRES and CHANCERY_KEY of this server)';
}

/** Resolves to the first signal. The next one, of either kind, finds no listener and ends the process. */
function stopSignal(): Promise<NodeJS.Signals> {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      for (const each of signals) process.off(each, onSignal);
      resolve(signal);
    };
    for (const each of signals) process.on(each, onSignal);
  });
}
