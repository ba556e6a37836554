import { Command } from 'commander';
import { issueSetupToken, setupLimits } from '../../auth/set-up.ts';
import { type App, startApp, version } from '../../app.ts';
import { commandName } from '../../base/build.ts';
import { createLogger } from '../../base/create-logger.ts';
import type { Config } from '../../config/config.ts';
import { dataFlags, serverFlags } from '../../config/config-flags.ts';
import { releaseMemoryWhenIdle } from '../../base/process.ts';
import type { Logger } from '../../base/logger.ts';
import { defaultSlug } from '../../instances/instance-directory.ts';
import { operatorMessage } from '../terminal/exit-code.ts';
import { addOwnFlags, configOf } from '../terminal/flags.ts';
import { type CommandIo, printSoon } from '../terminal/print.ts';

/** `serve` */
export function serveCommand(io: CommandIo): Command {
  const command = new Command('serve').description('run the server');
  addOwnFlags(command, [...dataFlags, ...serverFlags]);
  command.action(async () => serve(configOf(command, io), io));
  return command;
}

/** Runs the server until a signal asks it to stop; resolves when everything is settled and closed. */
async function serve(config: Config, io: CommandIo): Promise<void> {
  const logger = createLogger(config);
  // Listens first: a signal during the start would otherwise end the process without a stop.
  const stopAsked = stopSignal();
  const stopped = new AbortController();
  void stopAsked.then(() => stopped.abort());
  const app = await startApp(config, { logger, stopSignal: stopped.signal }).catch((error: unknown) => {
    if (!stopped.signal.aborted) throw error;
    return undefined;
  });
  if (app === undefined) {
    logger.info('Stopped during startup.');
    return;
  }
  // Since the process began, whose start is most of it.
  const readyMs = Math.round(process.uptime() * 1_000);
  const token = await findSetupToken(app, config, logger);
  const start = { app, config, token, readyMs };
  if (io.stdout.isTTY === true) printSoon(io, banner(start));
  else logStart(start, logger);
  releaseMemoryWhenIdle();
  const signal = await stopAsked;
  logger.info(
    `${signal}: stopping. Requests and webhooks in flight are finished; a second signal stops at once.`,
  );
  await app.stop();
  logger.info('Stopped.');
}

interface Start {
  readonly app: Pick<App, 'url' | 'metricsUrl'>;
  readonly config: Config;
  /** Makes the first superuser of the default instance; undefined when there is one. */
  readonly token: string | undefined;
  readonly readyMs: number;
}

/** Other instances are made by operators, who have the command line. */
async function findSetupToken(app: App, config: Config, logger: Logger): Promise<string | undefined> {
  const entry = app.data.directory.findBySlug(defaultSlug);
  // With strict hosts, a default instance without a host cannot be reached.
  if (entry === undefined || (config.strictHosts && entry.host === null)) return undefined;
  try {
    const loan = await app.data.instances.borrow(entry);
    return await issueSetupToken(loan.instance).finally(() => loan.release());
  } catch (error) {
    // A broken instance must not end the server, which serves all the others by now.
    const members = { instance: entry.id, error };
    logger.error(`The instance ${entry.slug} cannot be used: ${operatorMessage(error)}`, members);
    return undefined;
  }
}

/** What a person at a terminal wants to know first. */
function banner({ app: { url, metricsUrl }, config, token, readyMs }: Start): string {
  const metrics = metricsUrl === undefined ? '' : `\n  Metrics    ${metricsUrl}`;
  const place = config.postgres === undefined ? `${config.data} (SQLite)` : 'a PostgreSQL database';
  const superuser =
    token === undefined
      ? ''
      : `
  There is no superuser yet. Create one in a browser, once and within ${setupMinutes} minutes:

    ${setupLink(url, token)}

  or in another terminal:

    ${upsertCommand(config)}

  or over HTTP, with the token of the link:

    ${setupRequest(url, token)}
`;
  return `
  Chancery ${version}

  API        ${url}/api/
  Dashboard  ${url}/_/
  Data       ${place}${metrics}
${superuser}
  Ready in ${readyMs} ms. Ctrl-C stops it.

`;
}

/** The same for programs that read the log. */
function logStart({ app: { url, metricsUrl }, config, token, readyMs }: Start, logger: Logger): void {
  logger.info(`Chancery ${version} listens on ${url}`, { url, dashboard: `${url}/_/`, readyMs });
  if (metricsUrl !== undefined) logger.info(`Metrics are served on ${metricsUrl}`, { url: metricsUrl });
  if (token === undefined) return;
  logger.info(`There is no superuser yet. Create one while this runs: ${upsertCommand(config)}`);
  logger.info(`Or in a browser, once and within ${setupMinutes} minutes: ${setupLink(url, token)}`);
  logger.info(`Or over HTTP, once and within ${setupMinutes} minutes: ${setupRequest(url, token)}`);
}

const setupMinutes = setupLimits.tokenMs / 60_000;

function upsertCommand(config: Config): string {
  return `${commandName} superuser upsert EMAIL PASSWORD${placeOf(config)}`;
}

/** Behind the `#`, the token goes to no server and into no log on the way. */
function setupLink(url: string, token: string): string {
  return `${url}/_/setup#${token}`;
}

/** A form, which has no character that a log of JSON lines would escape. */
function setupRequest(url: string, token: string): string {
  const account = ['email=EMAIL', 'password=PASSWORD', 'passwordConfirm=PASSWORD'];
  const fields = [`token=${token}`, ...account].map((field) => `--data-urlencode ${field}`).join(' ');
  return `curl ${url}/api/setup ${fields}`;
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
