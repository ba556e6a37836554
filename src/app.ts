import { build } from './base/build.ts';
import { type Clock, ForwardClock, systemClock } from './base/clock.ts';
import { openFilesMax } from './base/process.ts';
import { createLogger, writeSoon } from './base/create-logger.ts';
import type { Logger } from './base/logger.ts';
import type { Config } from './config/config.ts';
import { installedSharp, type SharpPort } from './files/load-sharp.ts';
import { ThumbMaker } from './files/thumb-maker.ts';
import { AccessLog } from './http/server/access-log.ts';
import { WaitingServer } from './http/server/waiting-server.ts';
import { type MetricsServer, serveMetrics } from './http/server/metrics-server.ts';
import { createServer, type HttpServer } from './http/server/server.ts';
import type { Readiness } from './http/request-context.ts';
import { ServiceMetrics } from './http/service-metrics.ts';
import { openTls, type TlsFiles, watchTls } from './http/server/tls.ts';
import type { Instance } from './instances/instance.ts';
import { PageChecks } from './instances/page-checks.ts';
import { watchCommits } from './instances/commit-announcements.ts';
import { startSweeping } from './limits/window-store.ts';
import { Mailer } from './mail/mailer.ts';
import { Realtime } from './realtime/realtime.ts';
import type { RealtimeNodes } from './realtime/realtime-nodes.ts';
import { codeOf } from './base/process.ts';
import { nodeTls } from './network/open-socket.ts';
import { findPortHolder } from './network/find-port-holder.ts';
import {
  borrowAtOnceFrom,
  borrowFrom,
  type DataDirectory,
  type DataParts,
  messageOf,
  openDataDirectory,
  StartError,
  takeLock,
} from './open-data-directory.ts';
import type { DataHome, DataLock } from './storage/data-home.ts';
import type { UpgradeWait } from './storage/postgres/wait-for-nodes.ts';
import { DatabaseClock } from './storage/postgres/database-clock.ts';
import { deliverAlone, type Delivering } from './dispatch/delivering.ts';
import type { DispatcherOptions } from './dispatch/dispatcher.ts';
import { openSender } from './sending/sender.ts';

/** The version of this service. */
export const { version } = build;

/** How long requests in flight may take once the service is to stop. */
const requestsStopMs = 10_000;
const idleCloseMs = 20;
/** How often the wait for older nodes is logged. */
const waitLogMs = 10_000;

/** Parts of the service that tests replace or wrap. */
export interface AppParts extends DataParts {
  /** What makes thumbs. */
  readonly sharp?: SharpPort;
  /** Ends a start that waits for older nodes. */
  readonly stopSignal?: AbortSignal;
  /** Takes the lines of the access log, in place of the standard output. */
  readonly writeAccess?: (line: string) => void;
  /** Wraps the sending thread. */
  readonly wrapSender?: (sender: DispatcherOptions['sender']) => DispatcherOptions['sender'];
}

/** A running server. */
export interface App {
  readonly server: HttpServer;
  readonly data: DataDirectory;
  readonly realtime: Realtime;
  /** Where it listens: `http://127.0.0.1:8090`. */
  readonly url: string;
  /** Where it serves metrics besides the API; undefined for nowhere. */
  readonly metricsUrl: string | undefined;
  /** Stops accepting requests, lets those in flight end, settles deliveries and closes the files. */
  stop(): Promise<void>;
}

/** Starts the server. Throws StartError when the directory or the port is taken, or a certificate and its key do not fit. */
export async function startApp(config: Config, parts: AppParts = {}): Promise<App> {
  if (config.tls !== undefined) requireTls(config.tls);
  const logger = parts.logger ?? createLogger(config);
  const clock = parts.clock ?? systemClock;
  const lock = config.postgres === undefined ? await takeLock(config.data) : undefined;
  const data = await openOrWait(config, { ...parts, logger });
  const { policy, dev: isDevelopment } = config;
  const mailer = new Mailer({ policy, clock, logger, isDevelopment });
  const delivering = await createDelivering(config, { ...parts, logger, mailer }, data);
  const ownFiles = warningOfFiles(config);
  // A single node is well with it.
  if (ownFiles !== undefined) logger.info(ownFiles);
  let isStopping = false;
  const thumbs = new ThumbMaker({ clock, logger, sharp: parts.sharp ?? installedSharp(logger) });
  const realtime = createRealtime(config, { delivering, data, clock, logger });
  const nodes = await joinNodes(config, { delivering, realtime, data, logger });
  data.wakeUp.onWakeUp((id, what) => {
    delivering.wake(id, what);
    if (nodes?.isWatched(id) === true) delivering.notifyNodes(id);
  });
  const { dispatcher } = delivering;
  const metrics = new ServiceMetrics({ data, dispatcher, realtime, version, logger });
  const services = { mailer, realtime, thumbs, metrics, removals: data.removals };
  const server = await createServer({
    ...services,
    directory: data.directory,
    instances: data.instances,
    strictHosts: config.strictHosts,
    answerMemoryBytes: config.answerMemoryBytes,
    dispatcher,
    policy,
    origins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    logger,
    version,
    tls: config.tls,
    accessLog: config.accessLog ? new AccessLog(parts.writeAccess ?? writeSoon) : undefined,
    warnings: (instance) => warningsFor(instance, thumbs, ownFiles),
    reserve: data.home.reserve,
    isOutdated: () => data.home.isOutdated,
    readiness: (instance) => (isStopping ? 'stopping' : readinessOf(data.home, instance)),
  });
  const running = { ...services, server, delivering, nodes, data, lock, config, logger };
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
    metricsUrl: background.metricsUrl,
    stop: async () => {
      isStopping = true;
      await Promise.all([background.stop(), stopApp(running)]);
    },
  };
}

/** Opens the data. While nodes of an older version keep it from that, it answers that it is not ready. */
async function openOrWait(
  config: Config,
  parts: AppParts & { readonly logger: Logger },
): Promise<DataDirectory> {
  const { host, port, tls, upgradeWaitMs: maxMs } = config;
  const waiting = new WaitingServer({ host, port, tls });
  let loggedMs = Number.NEGATIVE_INFINITY;
  const onWait: UpgradeWait['onWait'] = async (nodes) => {
    await waiting.open().catch((error: unknown) => {
      throw new StartError(`Cannot listen on ${host}:${port}: ${messageOf(error)}.`, { cause: error });
    });
    const nowMs = systemClock.monotonic();
    if (nowMs - loggedMs < waitLogMs) return;
    loggedMs = nowMs;
    parts.logger.warn('Waiting for nodes of an older version to stop, which the new tables do not admit.', {
      nodes,
    });
  };
  const { stopSignal: signal } = parts;
  try {
    return await openDataDirectory(config, {
      ...parts,
      upgradeWait: { maxMs, onWait, ...(signal && { signal }) },
    });
  } finally {
    await waiting.close();
  }
}

function readinessOf(home: DataHome, instance: string | undefined): Readiness {
  return home.isOutdated ? 'outdated' : (home.fault(instance) ?? 'ready');
}

function createRealtime(
  config: Config,
  { delivering, data, ...parts }: Pick<Running, 'delivering' | 'data' | 'logger'> & { readonly clock: Clock },
): Realtime {
  return new Realtime({
    ...parts,
    borrow: borrowFrom(data),
    instancesMax: data.instances.realtimeMax,
    safeEnd: delivering.dispatcher.safeEnd,
    connectionsMax: config.realtimeConnections,
    connectionsPerAddressMax: config.realtimeConnectionsPerAddress,
    heartbeatMs: 25_000,
  });
}

/** Returns a warning where other nodes may not find the files of this one. */
function warningOfFiles({ postgres, files }: Config): string | undefined {
  if (postgres === undefined || files.isExplicit) return undefined;
  return 'Files of records are kept on a disk of this node: with several nodes, set --files to a folder that all share, or keep them in S3.';
}

function warningsFor(
  { settings }: Instance,
  thumbs: ThumbMaker,
  ownFiles: string | undefined,
): readonly string[] {
  const ofFiles = settings.current.s3.enabled ? undefined : ownFiles;
  return [thumbs.warning, ofFiles].filter((warning) => warning !== undefined);
}

async function createDelivering(
  config: Config,
  parts: AppParts & { readonly logger: Logger; readonly mailer: Mailer },
  data: DataDirectory,
): Promise<Delivering> {
  const clock = parts.clock ?? systemClock;
  const sender = openSender({ policy: config.policy, clock, logger: parts.logger });
  const common = {
    sender: parts.wrapSender?.(sender) ?? sender,
    instances: () => data.directory.all().map(({ id }) => id),
    borrow: borrowFrom(data),
    borrowAtOnce: borrowAtOnceFrom(data),
    instancesMax: data.instances.deliveringMax,
    onHint: (id: string) => wakeReaders(data, id),
    // Each takes a socket, and connections of clients may take half of the open files.
    webhookDays: config.webhookDays,
    slotsMax: Math.min(config.webhookSlots, Math.floor(openFilesMax() / 4)),
    clock,
    logger: parts.logger,
    mailer: parts.mailer,
    version,
  };
  if (config.postgres === undefined || !(data.dueClock instanceof DatabaseClock)) {
    // A test moves the clock in `parts`, also backwards, and it stands still in between: ForwardClock would follow neither.
    return deliverAlone({ ...common, clock: parts.clock ?? new ForwardClock(clock) });
  }
  const nodes = { database: data.home.background, url: config.postgres.url, clock: data.dueClock };
  const { deliverAmongNodes } = await import('./dispatch/nodes/deliver-among-nodes.ts');
  return deliverAmongNodes(common, nodes);
}

/** Wakes readers of an instance's events after another process has written some. */
function wakeReaders({ instances }: DataDirectory, id: string): void {
  const loan = instances.borrowOpen(id);
  loan?.instance.events.wake();
  loan?.release();
}

/** Announces realtime clients among the nodes of one database; undefined where there are no other nodes. */
async function joinNodes(
  { postgres }: Config,
  parts: Pick<Running, 'delivering' | 'realtime' | 'data' | 'logger'>,
): Promise<RealtimeNodes | undefined> {
  const { delivering, realtime, data, logger } = parts;
  const { node } = delivering;
  if (postgres === undefined || node === undefined) return undefined;
  const { RealtimeNodes: Nodes } = await import('./realtime/realtime-nodes.ts');
  const database = data.home.background;
  const nodes = new Nodes({ node, realtime, database, url: postgres.url, borrow: borrowFrom(data), logger });
  realtime.setNodes(nodes);
  return nodes;
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
  readonly nodes: RealtimeNodes | undefined;
  readonly mailer: Mailer;
  readonly thumbs: ThumbMaker;
  readonly metrics: ServiceMetrics;
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
    const holder = codeOf(error) === 'EADDRINUSE' ? findPortHolder(port) : undefined;
    const by = holder === undefined ? '' : ` ${holder} listens there; --port 0 takes a free one.`;
    throw new StartError(`Cannot listen on ${host}:${port}: ${messageOf(error)}.${by}`, { cause: error });
  }
}

async function startBackground({
  data,
  delivering,
  realtime,
  nodes,
  server,
  metrics,
  config,
  logger,
}: Running): Promise<Background> {
  const metricsServer = await openMetrics(config, metrics, logger);
  data.home.watch((error) => {
    if (!data.home.isOutdated) return logger.error('Definitions could not be read again.', { error });
    logger.error('This process answers no more requests.', { error });
    // Its clients would receive no more events: they have to connect to another node.
    void endClients(realtime, logger);
  });
  data.directory.watch((error) => logger.error('The directory of instances could not be read.', { error }));
  data.instances.startSweeping();
  data.fileSweeper.start();
  data.removals.start();
  await delivering.start();
  nodes?.start();
  const running: { stop(): Promise<void> | void }[] = [nodes, metricsServer].filter(
    (part) => part !== undefined,
  );
  running.push(
    await watchCommits(
      data.home.control,
      (id) => {
        delivering.wake(id);
        wakeReaders(data, id);
      },
      (error) => logger.error('Reading the announcements of commands failed; retrying.', { error }),
    ),
  );
  if (config.postgres !== undefined)
    running.push(await startSweeping({ database: data.home.background, clock: data.dueClock, logger }));
  running.push(
    new PageChecks({
      home: data.home,
      instances: () => data.directory.all().map(({ id }) => id),
      intervalMs: config.checkIntervalMs,
      clock: systemClock,
      logger,
    }),
  );
  if (config.tls !== undefined) running.push(watchTls(server.server, config.tls, logger));
  return {
    metricsUrl: metricsServer?.url,
    stop: async () => {
      for (const one of running) await one.stop();
    },
  };
}

async function endClients(realtime: Realtime, logger: Logger): Promise<void> {
  try {
    await realtime.stop();
  } catch (error) {
    logger.warn('Realtime connections could not be ended.', { error });
  }
}

interface Background {
  readonly metricsUrl: string | undefined;
  stop(): Promise<void>;
}

async function openMetrics(
  { metrics: place }: Config,
  metrics: ServiceMetrics,
  logger: Logger,
): Promise<MetricsServer | undefined> {
  if (place === undefined) return undefined;
  const { host, port } = place;
  try {
    await metrics.open();
    return await serveMetrics({ ...place, write: () => metrics.write(), logger });
  } catch (error) {
    throw new StartError(`Cannot serve metrics on ${host}:${port}: ${messageOf(error)}.`, { cause: error });
  }
}

/** Stops in reverse order of the start: requests and attempts, then mails, then the files. */
async function stopApp(running: Running): Promise<void> {
  const { server, delivering, realtime, mailer, thumbs, data, lock, config } = running;
  const cutOff = setTimeout(() => server.server.closeAllConnections(), requestsStopMs);
  // Closes connections that become idle only now: each would keep the server open until its keep-alive time-out.
  const idle = setInterval(() => server.server.closeIdleConnections(), idleCloseMs);
  // Both at once: claims must stop immediately, while requests in flight may still write events that the next start delivers.
  await Promise.all([realtime.stop(), server.close(), delivering.stop(config.stopTimeoutMs)]);
  clearTimeout(cutOff);
  clearInterval(idle);
  await mailer.stop(requestsStopMs);
  await thumbs.stop();
  await data.stop();
  lock?.release();
}
