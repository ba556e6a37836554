import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, ForwardClock, systemClock } from './base/clock.ts';
import { openFilesMax } from './base/process.ts';
import { createLogger } from './base/create-logger.ts';
import type { Logger } from './base/logger.ts';
import type { Config } from './config.ts';
import { WakeUp } from './events/event-log.ts';
import { createServer, type HttpServer } from './http/server.ts';
import { openTls, type TlsFiles, watchTls } from './http/tls.ts';
import { InstanceDirectory, type InstanceEntry } from './instances/instance-directory.ts';
import type { Instance } from './instances/instance.ts';
import { startSweeping } from './limits/window-store.ts';
import { type Loan, OpenInstances } from './instances/open-instances.ts';
import { Mailer } from './mail/mailer.ts';
import { Realtime } from './realtime/realtime.ts';
import { requireNoMove } from './transfer/move-mark.ts';
import { nodeTls } from './network/open-socket.ts';
import { type MasterKey, openMasterKey } from './secrets/master-key.ts';
import { openInstance } from './open-instance.ts';
import { type DataHome, type DataLock, lockDataDirectory } from './storage/data-home.ts';
import type { Database } from './storage/database.ts';
import { DatabaseClock } from './storage/postgres/database-clock.ts';
import { openSqliteHome, prepareDirectory } from './storage/sqlite/home.ts';
import { sqliteVersion } from './storage/sqlite/sqlite-database.ts';
import { deliverAlone, type Delivering, type DispatcherOptions } from './webhooks/dispatcher.ts';
import { openSender } from './webhooks/sending/sender.ts';

/** The version of this service, from package.json. */
export const version = readVersion();

/** Older versions of SQLite could corrupt a database when they reset its write-ahead log (https://www.sqlite.org/wal.html#walresetbug). */
const sqliteVersionMin = [3, 51, 3] as const;

/** How long requests in flight may take once the service is to stop. */
const requestsStopMs = 10_000;
const idleCloseMs = 20;

/** The service cannot start here. The message is one line for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Parts of the service that tests replace or wrap. */
export interface AppParts {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Wraps every instance's database: how crash points are injected. */
  readonly wrapDatabase?: (database: Database) => Database;
  /** Wraps the sending thread. */
  readonly wrapSender?: (sender: DispatcherOptions['sender']) => DispatcherOptions['sender'];
}

/** The opened data directory or database. Commands work on it too, whether or not a server is running. */
export interface DataDirectory {
  readonly home: DataHome;
  /** The clock that says which deliveries are due: the database's where several nodes share it. */
  readonly dueClock: Clock;
  readonly directory: InstanceDirectory;
  readonly instances: OpenInstances;
  readonly wakeUp: WakeUp;
  stop(): Promise<void>;
}

/** A running server. */
export interface App {
  readonly server: HttpServer;
  readonly data: DataDirectory;
  readonly realtime: Realtime;
  /** Where it listens: `http://127.0.0.1:8090`. */
  readonly url: string;
  /** Stops accepting requests, lets those in flight end, settles deliveries and closes the files. */
  stop(): Promise<void>;
}

/** Opens the data; creates the directory, its key and its default instance when they are missing. Throws StartError, SecretError. */
export async function openDataDirectory(
  config: Config,
  parts: AppParts,
  nextDue: (instanceId: string) => number | undefined = () => undefined,
): Promise<DataDirectory> {
  const clock = parts.clock ?? systemClock;
  const logger = parts.logger ?? createLogger(config);
  const home = await openHome(config, logger);
  const dueClock =
    config.postgres === undefined ? clock : new DatabaseClock(clock, { isGiven: parts.clock !== undefined });
  const { masterKey, directory } = await openControl(home, config, clock);
  const wakeUp = new WakeUp();
  const { auditDays, webhookBodyBytesMax: bodyBytesMax } = config;
  const { wrapDatabase } = parts;
  const open = (entry: InstanceEntry): Promise<Instance> =>
    openInstance(entry, {
      home,
      folder: join(config.data, 'instances'),
      wrapDatabase,
      masterKey,
      clock,
      dueClock,
      wakeUp,
      auditDays,
      bodyBytesMax,
      logger,
      entries: () => directory.all(),
    });
  const instances = new OpenInstances({ open, nextDue, clock, logger });
  return {
    home,
    dueClock,
    directory,
    instances,
    wakeUp,
    stop: async () => {
      await directory.stop();
      await instances.stop();
      await home.stop();
    },
  };
}

/** Opens the master key and the directory of instances, which the whole service shares. Closes `home` when either fails. */
async function openControl(
  home: DataHome,
  config: Config,
  clock: Clock,
): Promise<{ readonly masterKey: MasterKey; readonly directory: InstanceDirectory }> {
  try {
    await requireNoMove(home.control);
    const masterKey = await openMasterKey(home.control, {
      ...config.masterKey,
      dataDirectory: config.data,
    });
    const directory = await InstanceDirectory.open(home, clock);
    // Again: a move that found the database empty may have begun meanwhile.
    await requireNoMove(home.control);
    return { masterKey, directory };
  } catch (error) {
    await home.stop();
    throw error;
  }
}

/** Starts the server. Throws StartError when the directory or the port is taken, or a certificate and its key do not fit. */
export async function startApp(config: Config, parts: AppParts = {}): Promise<App> {
  if (config.tls !== undefined) requireTls(config.tls);
  const logger = parts.logger ?? createLogger(config);
  const lock = config.postgres === undefined ? await takeLock(config.data) : undefined;
  const due: { next: (instanceId: string) => number | undefined } = { next: () => undefined };
  const data = await openDataDirectory(config, { ...parts, logger }, (id) => due.next(id));
  const delivering = await createDelivering(config, { ...parts, logger }, data);
  data.wakeUp.onWakeUp((instanceId) => delivering.wake(instanceId));
  due.next = (id) => delivering.dispatcher.nextDue(id);
  let isStopping = false;
  const { policy, dev: isDevelopment } = config;
  const mailer = new Mailer({ policy, clock: parts.clock ?? systemClock, logger, isDevelopment });
  const realtime = new Realtime({
    borrow: borrowFrom(data),
    safeEnd: delivering.dispatcher.safeEnd,
    clock: parts.clock ?? systemClock,
    logger,
    connectionsMax: config.realtimeConnections,
    connectionsPerAddressMax: config.realtimeConnectionsPerAddress,
    beatMs: 25_000,
  });
  const server = await createServer({
    directory: data.directory,
    instances: data.instances,
    strictHosts: config.strictHosts,
    dispatcher: delivering.dispatcher,
    mailer,
    realtime,
    policy,
    origins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    logger,
    version,
    tls: config.tls,
    readiness: () => (isStopping ? 'stopping' : data.home.isReachable() ? 'ready' : 'degraded'),
  });
  const running = { server, delivering, realtime, mailer, data, lock, config, logger };
  const url = await listen(running);
  const background = await startBackground(running).catch(async (error: unknown) => {
    await stopApp(running);
    throw error;
  });
  return {
    server,
    data,
    realtime,
    url,
    stop: async () => {
      isStopping = true;
      await Promise.all([background.stop(), stopApp(running)]);
    },
  };
}

function checkSqlite(): void {
  const found = sqliteVersion();
  const difference =
    found.map((part, index) => part - (sqliteVersionMin[index] ?? 0)).find((part) => part !== 0) ?? 0;
  if (difference >= 0) return;
  throw new StartError(
    `SQLite ${found.join('.')} is too old: at least ${sqliteVersionMin.join('.')} is needed. Use a newer Node.js.`,
  );
}

async function openHome(
  { data, postgres, masterKey, queryTimeoutMs }: Config,
  logger: Logger,
): Promise<DataHome> {
  if (postgres === undefined) {
    checkSqlite();
    await prepareOrExplain(data);
    return openSqliteHome(data, { queryTimeoutMs, onLoss: (loss) => logger.error(loss) });
  }
  if (masterKey.text === undefined && masterKey.file === undefined) {
    throw new StartError(
      'With --postgres the master key is given by CHANCERY_KEY or --key-file, the same on every node.',
    );
  }
  // Imported on demand: most servers never need the driver.
  const { openPostgresHome } = await import('./storage/postgres/home.ts');
  return openPostgresHome({ url: postgres.url, isLossAllowed: postgres.allowUnsafe, queryTimeoutMs });
}

async function prepareOrExplain(path: string): Promise<void> {
  try {
    await prepareDirectory(path);
  } catch (error) {
    throw new StartError(`The data directory ${path} cannot be written: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

/** Takes the data directory for this process; throws StartError when a server runs on it. */
export async function takeLock(directory: string): Promise<DataLock> {
  await prepareOrExplain(directory);
  const lock = lockOrExplain(directory);
  if (lock === undefined)
    throw new StartError(`Another server or a move is running on the data directory ${directory}.`);
  return lock;
}

function lockOrExplain(directory: string): DataLock | undefined {
  try {
    return lockDataDirectory(directory);
  } catch (error) {
    throw new StartError(`${join(directory, 'server.lock')} cannot be locked: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

async function createDelivering(
  config: Config,
  parts: AppParts & { readonly logger: Logger },
  data: DataDirectory,
): Promise<Delivering> {
  const clock = parts.clock ?? systemClock;
  const sender = openSender({ policy: config.policy, clock, logger: parts.logger });
  const common = {
    sender: parts.wrapSender?.(sender) ?? sender,
    instances: () => data.directory.all().map(({ id }) => id),
    borrow: borrowFrom(data),
    // Each takes a socket, and connections of clients may take half of the open files.
    webhookDays: config.webhookDays,
    slotsMax: Math.min(config.webhookSlots, Math.floor(openFilesMax() / 4)),
    clock,
    logger: parts.logger,
    version,
  };
  if (config.postgres === undefined || !(data.dueClock instanceof DatabaseClock)) {
    // A test moves the clock in `parts`, also backwards, and it stands still in between: ForwardClock would follow neither.
    return deliverAlone({ ...common, clock: parts.clock ?? new ForwardClock(clock) });
  }
  const nodes = { database: data.home.background, url: config.postgres.url, clock: data.dueClock };
  const { deliverAmongNodes } = await import('./webhooks/nodes/deliver-among-nodes.ts');
  return deliverAmongNodes(common, nodes);
}

function borrowFrom({ directory, instances }: DataDirectory): (id: string) => Promise<Loan | undefined> {
  return async (id) => {
    const entry = directory.find(id);
    return entry === undefined ? undefined : instances.borrow(entry);
  };
}

/** Checks certificate and key before anything is created or opened. */
function requireTls(files: TlsFiles): void {
  const { certificate, key } = files;
  try {
    nodeTls.createSecureContext(readOrExplain(files));
  } catch (error) {
    if (error instanceof StartError) throw error;
    const what = `${certificate} and ${key} are no certificate and its key`;
    throw new StartError(`--tls-cert and --tls-key: ${what}: ${messageOf(error)}.`, { cause: error });
  }
}

function readOrExplain(files: TlsFiles): ReturnType<typeof openTls> {
  try {
    return openTls(files);
  } catch (error) {
    throw new StartError(messageOf(error), { cause: error });
  }
}

interface Running {
  readonly server: HttpServer;
  readonly delivering: Delivering;
  readonly realtime: Realtime;
  readonly mailer: Mailer;
  readonly data: DataDirectory;
  readonly lock: DataLock | undefined;
  readonly config: Config;
  readonly logger: Logger;
}

async function listen(running: Running): Promise<string> {
  const { host, port } = running.config;
  try {
    return await running.server.listen({ host, port });
  } catch (error) {
    await stopApp(running);
    throw new StartError(`Cannot listen on ${host}:${port}: ${messageOf(error)}.`, { cause: error });
  }
}

async function startBackground({
  data,
  delivering,
  server,
  config,
  logger,
}: Running): Promise<{ stop(): Promise<void> }> {
  data.home.watch((error) => logger.error('Definitions could not be read again.', { error }));
  data.directory.watch((error) => logger.error('The directory of instances could not be read.', { error }));
  data.instances.startSweeping();
  await delivering.start();
  const running: { stop(): Promise<void> | void }[] = [];
  if (config.postgres !== undefined)
    running.push(await startSweeping({ database: data.home.background, clock: data.dueClock, logger }));
  if (config.tls !== undefined) running.push(watchTls(server.server, config.tls, logger));
  return {
    stop: async () => {
      for (const one of running) await one.stop();
    },
  };
}

/** Stops in reverse order of the start: requests and attempts, then mails, then the files. */
async function stopApp({ server, delivering, realtime, mailer, data, lock, config }: Running): Promise<void> {
  const cutOff = setTimeout(() => server.server.closeAllConnections(), requestsStopMs);
  // Closes connections that become idle only now: each would keep the server open until its keep-alive time-out.
  const idle = setInterval(() => server.server.closeIdleConnections(), idleCloseMs);
  // Both at once: claims must stop immediately, while requests in flight may still write events that the next start delivers.
  await Promise.all([realtime.stop(), server.close(), delivering.stop(config.stopTimeoutMs)]);
  clearTimeout(cutOff);
  clearInterval(idle);
  await mailer.stop(requestsStopMs);
  await data.stop();
  lock?.release();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  // Our own file: a version is always in it, and npm would refuse it otherwise.
  return (JSON.parse(text) as { readonly version: string }).version;
}
