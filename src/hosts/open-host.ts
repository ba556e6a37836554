import { DailyDeliveries } from '../instances/daily-deliveries.ts';
import { type Clock, ForwardClock, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { openFilesMax } from '../base/process.ts';
import { build } from '../base/build.ts';
import { busy } from '../base/errors.ts';
import { type LongTurn, TurnMeter } from '../base/turn-meter.ts';
import type { Config } from '../config/config.ts';
import { type Ownership, soleOwnership } from '../deliveries/delivery.ts';
import { deliverAlone, type Delivering } from '../dispatch/delivering.ts';
import type { Dispatcher, DispatcherOptions } from '../dispatch/dispatcher.ts';
import { installedSharp, type SharpPort } from '../files/load-sharp.ts';
import { ThumbMaker } from '../files/thumb-maker.ts';
import { Admission } from '../http/admission.ts';
import { HostMetrics } from '../http/host/host-metrics.ts';
import { LocalHost } from '../http/host/local-host.ts';
import type { Services } from '../http/request-context.ts';
import { BeingReplaced } from '../instances/replacement-mark.ts';
import { watchCommits } from '../instances/commit-announcements.ts';
import type { DueTimes } from '../instances/due-index.ts';
import type { Instance } from '../instances/instance.ts';
import type { SpaceReader } from '../limits/disk-space.ts';
import { AlertMails } from '../deliveries/alert-mails.ts';
import { Mailer } from '../mail/mailer.ts';
import { borrowAtOnceFrom, borrowFrom, type DataDirectory } from '../open-data-directory.ts';
import { ProviderClient } from '../providers/provider-client.ts';
import { Realtime } from '../realtime/realtime.ts';
import type { RealtimeNodes } from '../realtime/realtime-nodes.ts';
import { wakeUpkeep } from '../start-due-work.ts';
import { openSender } from '../sending/sender.ts';
import { watchesOf } from './host-watches.ts';
import { LongTurnLog } from './long-turns.ts';
import { LongTurnRecord } from './long-turn-record.ts';
import type { RunningHosts } from './running-hosts.ts';
import { instanceJobsOf } from '../jobs/instance-jobs.ts';
import { DatabaseClock } from '../storage/postgres/database-clock.ts';

/** How long mails that are on their way may take once the service is to stop. */
const mailsStopMs = 10_000;
/** How long an instance that leaves is waited for. Requests and webhooks that take longer than this end beside those of its next host. */
const loansMs = 50;

/** Parts of a host that tests replace or wrap. */
export interface HostParts {
  readonly clock?: Clock;
  /** What makes thumbs. */
  readonly sharp?: SharpPort;
  /** Measures disks. */
  readonly readSpace?: SpaceReader;
  /** Wraps the sending thread. */
  readonly wrapSender?: (sender: DispatcherOptions['sender']) => DispatcherOptions['sender'];
}

export interface HostOptions {
  readonly config: Config;
  readonly parts: HostParts;
  readonly data: DataDirectory;
  readonly logger: Logger;
  /** Which instances are run here; all are unless given. */
  readonly ownership?: Ownership;
  readonly readiness: Services['readiness'];
  /** Called with what is due in an instance that was closed; without it, this host itself looks after those that are closed. */
  readonly onClosed?: (instanceId: string, times: DueTimes) => void;
  /** Called for each turn of this thread that took long. */
  readonly onLongTurn?: (turn: LongTurn) => void;
  /** The metrics of the whole process; those of this host by default are a part of them. */
  readonly metrics: Services['metrics'];
}

/** What runs instances in this thread. */
export interface OpenHost extends RunningHosts {
  readonly host: LocalHost;
  readonly metrics: HostMetrics;
  readonly realtime: Realtime;
  /** Notes that an instance was placed here, and what this thread may still have open of it is outdated. */
  comeBack(instanceId: string): void;
  /** Has what is due in an instance done that is run here. */
  take(instanceId: string): void;
  /**
   * Hands over an instance that is run elsewhere from now on: its realtime clients are disconnected, to connect there, webhooks that are on
   * their way are sent again only if this thread does not settle them, and it is closed.
   */
  handOver(instanceId: string): Promise<void>;
}

/** Connects the parts of a host. */
export async function openHost(options: HostOptions): Promise<OpenHost> {
  const { config, parts, data, logger, readiness, metrics } = options;
  const clock = parts.clock ?? systemClock;
  const { mailer, mails } = mailsOf(options, clock);
  const daily = dailyOf(data, () => delivering, logger);
  const delivering = await createDelivering({ ...options, daily }, mails);
  const thumbs = new ThumbMaker({ clock, logger, sharp: parts.sharp ?? installedSharp(logger) });
  const { dispatcher } = delivering;
  const realtime = createRealtime(options, dispatcher.safeEnd, clock);
  const nodes = await joinNodes(options, delivering, realtime);
  data.wakeUp.onWakeUp((id, what) => {
    delivering.wake(id, what);
    if (nodes?.isWatched(id) === true) delivering.notifyNodes(id);
  });
  const { directory, instances, removals, home } = data;
  const record = new LongTurnRecord({ control: home.background, directory, node: delivering.node, logger });
  const meter = meterOf(options, record);
  const { usage, quotas, disk, log } = watchesOf(options, { delivering, realtime });
  const jobs = instanceJobsOf(data, config, { logger, janitor: delivering.janitor });
  const watches = [usage, quotas, daily, disk, log, jobs.crons];
  const host = new LocalHost({
    admission: new Admission({ trustedProxies: config.trustedProxies, instances, disk, log }),
    meter,
    directory,
    instances,
    dispatcher,
    mailer,
    providers: new ProviderClient({ requests: data.requests, version: build.version, clock }),
    realtime,
    thumbs,
    removals,
    ...jobs,
    metrics,
    policy: config.policy,
    version: build.version,
    readiness,
    isOutdated: () => home.isOutdated,
    reserve: home.reserve,
    warnings: (one) => warningsFor(one, options, [thumbs.warning, log.warningOf(one.id)]),
  });
  const take = (id: string): void => {
    delivering.wake(id);
    wakeUpkeep(id, data, delivering);
  };
  followLife(options, { delivering, realtime, take });
  let announcements: { stop(): Promise<void> } | undefined;
  return {
    host,
    realtime,
    metrics: new HostMetrics({ data, dispatcher, realtime, quotas, log, meter, logger }),
    faultOf: (instance) => home.fault(instance),
    comeBack: (id) => instances.comeBack(id),
    take,
    handOver: (id) => handOver(id, { dispatcher, realtime, data }),
    start: async () => {
      startData(options, realtime);
      await delivering.start();
      await data.start(delivering);
      if (options.ownership === undefined) record.start();
      for (const part of [nodes, ...watches]) part?.start();
      announcements = await watchAnnouncements(options, delivering);
    },
    stopSending: () => stopSending(realtime, delivering, config.stopTimeoutMs),
    stop: async () => {
      for (const part of [...watches, record, nodes, announcements]) await part?.stop();
      await mails.stop(mailsStopMs);
      await thumbs.stop();
    },
  };
}

async function stopSending(realtime: Realtime, delivering: Delivering, maxMs: number): Promise<void> {
  await Promise.all([realtime.stop(), delivering.stop(maxMs)]);
}

function mailsOf(
  { config: { policy, dev: isDevelopment }, data, logger }: HostOptions,
  clock: Clock,
): { readonly mailer: Mailer; readonly mails: AlertMails } {
  const mailer = new Mailer({ policy, clock, logger, isDevelopment });
  return { mailer, mails: new AlertMails({ mailer, borrow: borrowAtOnceFrom(data), logger }) };
}

function dailyOf(data: DataDirectory, delivering: () => Delivering, logger: Logger): DailyDeliveries {
  return new DailyDeliveries({
    directory: data.directory,
    instances: data.instances,
    counts: () => delivering().dispatcher.counts.deliveriesOf,
    wake: (id) => delivering().wake(id),
    clock: data.dueClock,
    logger,
  });
}

interface HandOverParts {
  readonly dispatcher: Dispatcher;
  readonly realtime: Realtime;
  readonly data: DataDirectory;
}

async function handOver(id: string, { dispatcher, realtime, data }: HandOverParts): Promise<void> {
  await realtime.endInstance(id);
  const postpone = await dispatcher.prepareHandOver((other) => other === id);
  // What is closed has nothing on its way.
  const entry = data.instances.isOpen(id) ? data.directory.find(id) : undefined;
  const loan = entry && (await data.instances.borrow(entry));
  try {
    await loan?.instance.database.write((tx) => postpone(tx));
  } finally {
    loan?.release();
  }
  await data.instances.leave(id, loansMs);
}

interface LifeParts {
  readonly delivering: Delivering;
  readonly realtime: Realtime;
  readonly take: (instanceId: string) => void;
}

/** Ends what no request waits for in an instance that is suspended or deleted, and begins it again in one that is resumed or restored. */
function followLife(
  { config, data, logger, ownership }: HostOptions,
  { delivering, realtime, take }: LifeParts,
): void {
  data.directory.onLife((id, isActive) => {
    // Where instances share tables, their upkeep is found there.
    if (isActive && config.postgres !== undefined) delivering.wake(id);
    else if (isActive && ownership?.owns(id) !== false) take(id);
    if (isActive) return;
    delivering.wake(id);
    data.instances.retire(id);
    realtime.endInstance(id).catch((error: unknown) => {
      logger.warn('Realtime connections could not be ended.', { instance: id, error });
    });
  });
}

/** Measures the turns of this thread. Of a host that is alone, `record` counts the long ones; of several, the front does. */
function meterOf({ data, logger, onLongTurn }: HostOptions, record: LongTurnRecord): TurnMeter {
  const log = new LongTurnLog(logger, data.directory);
  const note = onLongTurn ?? ((turn: LongTurn) => record.note(turn));
  return new TurnMeter((turn) => {
    // Alone, an instance keeps nobody waiting.
    if (data.instances.openCount < 2) return;
    log.note(turn);
    note(turn);
  });
}

function startData({ data, logger, ownership, onClosed }: HostOptions, realtime: Realtime): void {
  if (onClosed !== undefined) data.instances.onClosed(onClosed);
  // Of several hosts none does: the front keeps it.
  if (ownership === undefined) data.home.reserve?.start();
  data.home.watch((error) => {
    // Its successor is opened in a moment.
    if (error instanceof BeingReplaced) return;
    if (!data.home.isOutdated) return logger.error('Definitions could not be reloaded.', { error });
    logger.error('This process no longer answers requests.', { error });
    // Its clients would receive no more events: they have to connect to another node.
    void endClients(realtime, logger);
  });
  data.directory.watch((error) => logger.error('The list of instances could not be read.', { error }));
}

async function endClients(realtime: Realtime, logger: Logger): Promise<void> {
  try {
    await realtime.stop();
  } catch (error) {
    logger.warn('Realtime connections could not be ended.', { error });
  }
}

/** Reads on where a command has written beside this process. */
function watchAnnouncements(
  { data, logger }: HostOptions,
  delivering: Delivering,
): Promise<{ stop(): Promise<void> }> {
  return watchCommits(
    data.home.control,
    (id) => {
      delivering.wake(id);
      wakeReaders(data, id);
    },
    (error) => logger.error('Reading the announcements of commands failed; retrying.', { error }),
  );
}

function createRealtime(
  { config, data, logger, ownership }: HostOptions,
  safeEnd: Delivering['dispatcher']['safeEnd'],
  clock: Clock,
): Realtime {
  const borrow = borrowFrom(data);
  return new Realtime({
    clock,
    logger,
    borrow: async (id) => {
      // A client that came just before its instance left would hear of nothing that is written elsewhere.
      if (ownership?.owns(id) === false) throw busy();
      return borrow(id);
    },
    instancesMax: data.instances.realtimeMax,
    safeEnd,
    connectionsMax: config.realtimeConnections,
    connectionsPerAddressMax: config.realtimeConnectionsPerAddress,
    heartbeatMs: 25_000,
  });
}

/** Returns a warning where other nodes may not find the files of this one. */
export function warningOfFiles({ postgres, files }: Config): string | undefined {
  if (postgres === undefined || files.isExplicit) return undefined;
  return 'Files of records are kept on a disk of this node: with several nodes, set --files to a folder that all share, or keep them in S3.';
}

function warningsFor(
  { settings }: Instance,
  { config, data }: HostOptions,
  others: readonly (string | undefined)[],
): readonly string[] {
  const ofFiles = settings.current.s3.enabled ? undefined : warningOfFiles(config);
  return [ofFiles, data.upgradeWarning, ...others].filter((warning) => warning !== undefined);
}

async function createDelivering(
  {
    config,
    parts,
    data,
    logger,
    daily,
    ownership = soleOwnership,
  }: HostOptions & { readonly daily: DailyDeliveries },
  mails: AlertMails,
): Promise<Delivering> {
  const clock = parts.clock ?? systemClock;
  const sender = openSender({ policy: config.policy, egress: config.egress, clock, logger });
  const common = {
    sender: parts.wrapSender?.(sender) ?? sender,
    instances: () => data.instances.openIds(),
    borrow: borrowFrom(data),
    borrowAtOnce: borrowAtOnceFrom(data),
    isActive: (id: string) => data.directory.isActive(id) && !daily.isUsedUp(id),
    instancesMax: data.instances.deliveringMax,
    onHint: (id: string) => wakeReaders(data, id),
    // Each takes a socket, and connections of clients may take half of the open files.
    webhookDays: config.webhookDays,
    slotsMax: Math.min(config.webhookSlots, Math.floor(openFilesMax() / 4)),
    clock,
    logger,
    mails,
    version: build.version,
  };
  if (config.postgres === undefined || !(data.dueClock instanceof DatabaseClock)) {
    // A test moves the clock in `parts`, also backwards, and it stands still in between: ForwardClock would follow neither.
    return deliverAlone({ ...common, ownership, clock: parts.clock ?? new ForwardClock(clock) });
  }
  const nodes = { database: data.home.background, url: config.postgres.url, clock: data.dueClock };
  const { deliverAmongNodes } = await import('../dispatch/nodes/deliver-among-nodes.ts');
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
  { config: { postgres }, data, logger }: HostOptions,
  { node }: Delivering,
  realtime: Realtime,
): Promise<RealtimeNodes | undefined> {
  if (postgres === undefined || node === undefined) return undefined;
  const { RealtimeNodes: Nodes } = await import('../realtime/realtime-nodes.ts');
  const database = data.home.background;
  const nodes = new Nodes({ node, realtime, database, url: postgres.url, borrow: borrowFrom(data), logger });
  realtime.setNodes(nodes);
  return nodes;
}
