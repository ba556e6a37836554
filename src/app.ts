import { rollUpUsage } from './logs/add-usage.ts';
import { UsageRecord } from './logs/usage-record.ts';
import { build } from './base/build.ts';
import { systemClock } from './base/clock.ts';
import { createLogger, writeSoon } from './base/create-logger.ts';
import type { Logger } from './base/logger.ts';
import type { Config } from './config/config.ts';
import { AccessLog } from './http/server/access-log.ts';
import { WaitingServer } from './http/server/waiting-server.ts';
import { type MetricsServer, serveMetrics } from './http/server/metrics-server.ts';
import { createServer, type HttpServer } from './http/server/server.ts';
import type { Readiness } from './http/request-context.ts';
import { OperatorMetrics } from './http/operator-metrics.ts';
import { ServiceMetrics } from './http/service-metrics.ts';
import { openTls, type TlsFiles, watchTls } from './http/server/tls.ts';
import { DiskWatch } from './instances/disk-watch.ts';
import { InstanceRemovals } from './instances/instance-removals.ts';
import type { OperatorControl } from './operator/operator-control.ts';
import type { SchemaRunner } from './operator/schema-runner.ts';
import { PageChecks } from './instances/page-checks.ts';
import { startSweeping } from './limits/window-store.ts';
import { BackupMetrics } from './jobs/backup-metrics.ts';
import type { JobRunner } from './jobs/job-runner.ts';
import { codeOf } from './base/process.ts';
import { nodeTls } from './network/open-socket.ts';
import { findPortHolder } from './network/find-port-holder.ts';
import {
  type DataDirectory,
  type DataParts,
  type DataRole,
  messageOf,
  openDataDirectory,
  StartError,
  takeLock,
} from './open-data-directory.ts';
import { jobsOf, operatorOf, schedulesOf, schemaRunnerOf } from './open-operator.ts';
import type { DataHome, DataLock } from './storage/data-home.ts';
import { type HostParts, openHost, type OpenHost, warningOfFiles } from './hosts/open-host.ts';
import type { ThreadParts } from './hosts/host-pool.ts';
import { openPool } from './hosts/open-pool.ts';
import { Placements } from './hosts/placements.ts';
import type { RunningHosts } from './hosts/running-hosts.ts';
import type { StorageFault } from './storage/storage-health.ts';
import type { UpgradeWait } from './storage/postgres/wait-for-nodes.ts';

/** The version of this service. */
export const { version } = build;

/** How long requests in flight may take once the service is to stop. */
const requestsStopMs = 10_000;
const idleCloseMs = 20;
/** How often the wait for older nodes is logged. */
const waitLogMs = 10_000;

/** Parts of the service that tests replace or wrap. */
export interface AppParts extends DataParts, HostParts {
  /** Parts of the threads that run instances. */
  readonly hostThreads?: ThreadParts;
  /** Ends a start that waits for older nodes. */
  readonly stopSignal?: AbortSignal;
  /** Takes the lines of the access log, in place of the standard output. */
  readonly writeAccess?: (line: string) => void;
}

/** A running server. */
export interface App {
  readonly server: HttpServer;
  readonly data: DataDirectory;
  /** What runs the instances. */
  readonly hosts: RunningHosts;
  /** The same, where it does so in this thread alone. */
  readonly local: OpenHost | undefined;
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
  const lock = config.postgres === undefined ? await takeLock(config.data) : undefined;
  const placements = config.hostThreads === 'auto' ? new Placements() : undefined;
  const isPlaced = placements && ((id: string) => placements.owns(id));
  const data = await openOrWait(config, { ...parts, logger, ...(isPlaced && { isPlaced }) });
  const ownFiles = warningOfFiles(config);
  // A single node is well with it.
  if (ownFiles !== undefined) logger.info(ownFiles);
  let isStopping = false;
  const readiness = (instance?: string): Readiness =>
    isStopping ? 'stopping' : readinessOf(data.home, host.faultOf(instance));
  const written = { write: () => metrics.write() };
  const local =
    config.hostThreads === 0
      ? await openHost({ config, parts, data, logger, readiness, metrics: written })
      : undefined;
  const own = placements && { parts, placements, readiness };
  const host = local ?? (await openPool({ config, data, logger, own, ...parts.hostThreads, ...written }));
  const { engine } = data.home.control;
  const jobs = jobsOf({ data, config, logger });
  const operator = operatorOf(config, data, { clock: parts.clock ?? systemClock, logger, transfers: jobs });
  const folders = { ...config.disks, readSpace: parts.readSpace };
  const disk = new DiskWatch({ folders, control: data.home.background, clock: data.dueClock, logger });
  const metrics = new ServiceMetrics({
    directory: data.directory,
    engine,
    version,
    ofInstances: host.metrics,
    shared: [new BackupMetrics(data), new OperatorMetrics(operator)],
    ofDisk: disk,
  });
  const server = await createServer({
    host: host.host,
    operator,
    metrics,
    readiness,
    directory: data.directory,
    strictHosts: config.strictHosts,
    answerMemoryBytes: config.answerMemoryBytes,
    origins: config.corsOrigins,
    logger,
    tls: config.tls,
    accessLog: config.accessLog ? new AccessLog(parts.writeAccess ?? writeSoon) : undefined,
  });
  const usage = usageOf(data, metrics, logger);
  const schema = schemaRunnerOf(operator, { host: host.host, server, data, logger });
  const running = { server, host, operator, jobs, schema, metrics, usage, disk, data, lock, config, logger };
  const url = await listen(running);
  const background = await startBackground(running).catch(async (error: unknown) => {
    await stopApp(running);
    throw error;
  });
  return {
    server,
    data,
    hosts: host,
    local,
    url,
    metricsUrl: background.metricsUrl,
    stop: async () => {
      isStopping = true;
      await stopApp(running, background);
    },
  };
}

function usageOf({ home, dueClock }: DataDirectory, metrics: ServiceMetrics, logger: Logger): UsageRecord {
  return new UsageRecord({
    control: home.background,
    clock: dueClock,
    logger,
    sources: [() => metrics.requests.instances],
    rollUp: (nowMs) => rollUpUsage(home.control, nowMs),
  });
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
    parts.logger.warn('Waiting for nodes of an older, incompatible version to stop.', {
      nodes,
    });
  };
  const { stopSignal: signal } = parts;
  try {
    return await openDataDirectory(config, {
      role: roleOf(config),
      ...parts,
      upgradeWait: { maxMs, onWait, ...(signal && { signal }) },
    });
  } finally {
    await waiting.close();
  }
}

function roleOf({ hostThreads }: Config): DataRole {
  if (hostThreads === 'auto') return 'host';
  return hostThreads === 0 ? 'server' : 'command';
}

function readinessOf(home: DataHome, fault: StorageFault | undefined): Readiness {
  return home.isOutdated ? 'outdated' : (fault ?? 'ready');
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
  readonly host: RunningHosts;
  readonly operator: OperatorControl;
  readonly jobs: JobRunner;
  readonly schema: SchemaRunner;
  readonly metrics: ServiceMetrics;
  readonly usage: UsageRecord;
  readonly disk: DiskWatch;
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
  host,
  operator,
  jobs,
  schema,
  usage,
  disk,
  server,
  metrics,
  config,
  logger,
}: Running): Promise<Background> {
  const metricsServer = await openMetrics(config, metrics, logger);
  await host.start();
  usage.start();
  schema.start();
  operator.dispatcher.start();
  disk.start();
  const running: { stop(): Promise<void> | void }[] = [disk];
  if (metricsServer !== undefined) running.push(metricsServer);
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
  const { home, directory, instances } = data;
  const { folder } = config.files;
  const { deletedDays } = config;
  const backups = config.backups.folder;
  const clock = data.dueClock;
  const removals = new InstanceRemovals({
    home,
    directory,
    instances,
    folder,
    backups,
    deletedDays,
    clock,
    logger,
  });
  running.push(removals);
  await schedulesOf(data).set('', config.backups.schedule?.cron ?? '', clock.now());
  jobs.start();
  running.push(jobs);
  void removals.look();
  if (config.tls !== undefined) running.push(watchTls(server.server, config.tls, logger));
  return {
    metricsUrl: metricsServer?.url,
    stop: async () => {
      for (const one of running) await one.stop();
    },
  };
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

/** Stops in reverse order of the start: requests, attempts and jobs, then the files. */
async function stopApp(running: Running, background?: Background): Promise<void> {
  const { data, lock } = running;
  await Promise.all([stopServing(running), background?.stop()]);
  await data.stop();
  lock?.release();
}

async function stopServing({ server, host, operator, schema, usage, config }: Running): Promise<void> {
  const cutOff = setTimeout(() => server.server.closeAllConnections(), requestsStopMs);
  // Closes connections that become idle only now: each would keep the server open until its keep-alive time-out.
  const idle = setInterval(() => server.server.closeIdleConnections(), idleCloseMs);
  // Both at once: claims must stop immediately, while requests in flight may still write events that the next start delivers.
  await Promise.all([
    host.stopSending(),
    operator.dispatcher.stop(config.stopTimeoutMs),
    server.close(),
    schema.stop(),
  ]);
  clearTimeout(cutOff);
  clearInterval(idle);
  await host.stop();
  await operator.audit.settle();
  await usage.stop();
}
