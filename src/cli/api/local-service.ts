import type { Duplex } from 'node:stream';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { version } from '../../app.ts';
import { schemaRunnerOf } from '../../open-operator.ts';
import type { Config } from '../../config/config.ts';
import { alwaysSafe, type SafeEnd } from '../../events/log-horizon.ts';
import { installedSharp } from '../../files/load-sharp.ts';
import { ThumbMaker } from '../../files/thumb-maker.ts';
import { Admission } from '../../http/admission.ts';
import { HostMetrics } from '../../http/host/host-metrics.ts';
import { LocalHost } from '../../http/host/local-host.ts';
import type { Readiness } from '../../http/request-context.ts';
import { createServer } from '../../http/server/server.ts';
import { ServiceMetrics } from '../../http/service-metrics.ts';
import { announceCommits } from '../../instances/commit-announcements.ts';
import { instanceJobsOf } from '../../jobs/instance-jobs.ts';
import type { OperatorControl } from '../../operator/operator-control.ts';
import { Mailer } from '../../mail/mailer.ts';
import { borrowAtOnceFrom, borrowFrom, type DataDirectory } from '../../open-data-directory.ts';
import { ProviderClient } from '../../providers/provider-client.ts';
import { Realtime } from '../../realtime/realtime.ts';
import { noOwnership } from '../../deliveries/delivery.ts';
import { Dispatcher } from '../../dispatch/dispatcher.ts';
import { WorkPoll } from '../../dispatch/nodes/work-poll.ts';
import { openSender } from '../../sending/sender.ts';

/** The routes of the service over data of this machine, for a command and for nobody else. */
export interface LocalService {
  /** Takes one end of a connection in memory; the routes answer on it. */
  readonly connect: (connection: Duplex) => void;
  stop(): Promise<void>;
}

export interface LocalServiceParts {
  readonly logger: Logger;
  /** Whose routes are served; undefined for none of them. */
  readonly operator?: OperatorControl | undefined;
  /** Whether the schema jobs of the operator are taken up. */
  readonly takesUpJobs?: boolean;
}

/** How long an attempt or a mail that the command has asked for may take to end. */
const stopMs = 10_000;

/**
 * Serves the data in this process without listening anywhere. Whoever can open the data may do everything with it: each request
 * is the operator's. It delivers nothing by itself, as a server may run beside it, or does so at its start; only tests of endpoints are sent.
 */
export async function openLocalService(
  data: DataDirectory,
  config: Config,
  { logger, operator, takesUpJobs = false }: LocalServiceParts,
): Promise<LocalService> {
  const clock = systemClock;
  const { policy } = config;
  const { safeEnd, stop: stopSafeEnd } = safeEndOf(data, logger);
  const dispatcher = idleDispatcher(data, config, { safeEnd, logger });
  const mailer = new Mailer({ policy, clock, logger, isDevelopment: config.dev });
  const thumbs = new ThumbMaker({ clock, logger, sharp: installedSharp(logger) });
  const realtime = noRealtime(data, safeEnd, logger);
  const notes = announceCommits(data.home.control, data.wakeUp);
  const admission = new Admission({ trustedProxies: [], instances: data.instances });
  const { directory, instances } = data;
  const metrics = metricsOf(data, { dispatcher, realtime, logger });
  const readiness = (): Readiness => 'ready';
  const jobs = instanceJobsOf(data, config, { logger });
  const host = new LocalHost({
    admission,
    directory,
    instances,
    dispatcher,
    mailer,
    providers: new ProviderClient({ requests: data.requests, version, clock }),
    realtime,
    thumbs,
    removals: data.removals,
    ...jobs,
    metrics,
    policy,
    version,
    readiness,
    isForOperator: true,
    warnings: () => [],
    isOutdated: () => data.home.isOutdated,
    reserve: data.home.reserve,
  });
  const server = await createServer({
    host,
    operator,
    operatorCaller: { id: '', name: '', scopes: ['admin'], expires: '', created: '', lastUsed: '' },
    metrics,
    readiness,
    directory,
    logger,
    strictHosts: false,
    origins: [],
    tls: undefined,
  });
  const schema =
    takesUpJobs && operator ? schemaRunnerOf(operator, { host, server, data, logger }) : undefined;
  schema?.start();
  return {
    connect: (connection) => void server.server.emit('connection', connection),
    stop: async () => {
      await Promise.all([schema?.stop(), jobs.crons.stop()]);
      await Promise.all([realtime.stop(), server.close(), dispatcher.stop(stopMs)]);
      await Promise.all([mailer.stop(stopMs), thumbs.stop(), stopSafeEnd(), notes.stop()]);
    },
  };
}

/** Sends nothing but tests of endpoints. */
function idleDispatcher(
  data: DataDirectory,
  { policy, egress }: Config,
  { safeEnd, logger }: { readonly safeEnd: SafeEnd; readonly logger: Logger },
): Dispatcher {
  return new Dispatcher({
    sender: openSender({ policy, egress, clock: systemClock, logger }),
    instances: () => [],
    borrowAtOnce: borrowAtOnceFrom(data),
    ownership: noOwnership,
    safeEnd,
    onForeign: () => undefined,
    clock: systemClock,
    logger,
    version,
  });
}

/** Realtime that no client can connect to. */
function noRealtime(data: DataDirectory, safeEnd: SafeEnd, logger: Logger): Realtime {
  return new Realtime({
    borrow: borrowFrom(data),
    safeEnd,
    clock: systemClock,
    logger,
    connectionsMax: 0,
    connectionsPerAddressMax: 0,
    heartbeatMs: 25_000,
  });
}

function metricsOf(
  data: DataDirectory,
  parts: { readonly dispatcher: Dispatcher; readonly realtime: Realtime; readonly logger: Logger },
): ServiceMetrics {
  return new ServiceMetrics({
    directory: data.directory,
    engine: data.home.control.engine,
    version,
    ofInstances: new HostMetrics({ data, ...parts, quotas: { ratios: new Map() } }),
  });
}

/** Returns up to where the log can be read. Where several processes write it, that is looked for once somebody reads. */
function safeEndOf(
  { home, dueClock }: DataDirectory,
  logger: Logger,
): { readonly safeEnd: SafeEnd; readonly stop: () => Promise<void> } {
  if (!home.control.names.isConcurrent) return { safeEnd: alwaysSafe, stop: () => Promise.resolve() };
  let started: WorkPoll | undefined;
  const poll = (): WorkPoll => {
    if (started !== undefined) return started;
    started = new WorkPoll({
      database: home.background,
      clock: dueClock,
      logger,
      onPending: () => undefined,
    });
    started.start();
    return started;
  };
  const safeEnd: SafeEnd = {
    get safePosition() {
      return poll().safePosition;
    },
    hurry: () => poll().hurry(),
    refresh: () => poll().refresh(),
    nextSafe: (delayMs) => poll().nextSafe(delayMs),
  };
  return { safeEnd, stop: async () => started?.stop() };
}
