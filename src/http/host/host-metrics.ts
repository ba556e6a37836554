import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { TurnMeter } from '../../base/turn-meter.ts';
import { BacklogCounter } from '../../deliveries/log/backlog.ts';
import type { Dispatcher } from '../../dispatch/dispatcher.ts';
import { webhookMetrics } from '../../dispatch/webhook-metrics.ts';
import type { WakeUp } from '../../events/event-log.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import type { LogShares } from '../../instances/log-shares.ts';
import type { QuotaWatch } from '../../instances/quota-watch.ts';
import { type Metric, single } from '../../logs/metric.ts';
import { storageMetrics } from '../../logs/storage-metrics.ts';
import type { Realtime } from '../../realtime/realtime.ts';
import type { DataHome } from '../../storage/data-home.ts';
import { instancesMax, topOf } from '../service-metrics.ts';

export interface HostMetricSources {
  readonly data: {
    readonly home: Pick<DataHome, 'counts' | 'health'>;
    readonly instances: OpenInstances;
    readonly wakeUp: WakeUp;
  };
  readonly meter?: TurnMeter;
  readonly dispatcher: Dispatcher;
  readonly realtime: Realtime;
  readonly quotas: Pick<QuotaWatch, 'ratios'>;
  /** Left out by a command. */
  readonly log?: Pick<LogShares, 'counts'>;
  readonly logger: Logger;
}

/** The metrics of the instances that a host runs, which are gathered from its parts when somebody asks. */
export class HostMetrics {
  readonly list: readonly Metric[];
  readonly #backlog: BacklogCounter;

  constructor({ data, dispatcher, realtime, quotas, log, meter, logger }: HostMetricSources) {
    const { home, instances, wakeUp } = data;
    this.#backlog = new BacklogCounter({
      instances: () => dispatcher.workingInstances(),
      borrow: (id) => instances.borrowOpen(id),
      clock: systemClock,
      logger,
    });
    this.list = [
      ...storageMetrics(home.counts, home.health),
      ...webhookMetrics({ dispatcher, backlog: this.#backlog, events: () => wakeUp.events }),
      single(
        { name: 'chancery_realtime_connections', type: 'gauge', help: 'Realtime connections.' },
        () => realtime.connections,
      ),
      single(
        {
          name: 'chancery_realtime_messages_total',
          type: 'counter',
          help: 'Messages that were sent to realtime connections.',
        },
        () => realtime.messages,
      ),
      single(
        {
          name: 'chancery_long_turns_total',
          type: 'counter',
          help: 'Turns of an event loop for instances that took more than 0.1 s of the processor.',
        },
        () => meter?.longTurns ?? 0,
      ),
      single(
        { name: 'chancery_instances_open', type: 'gauge', help: 'Instances whose files are open.' },
        () => instances.openCount,
      ),
      {
        name: 'chancery_instance_quota_ratio',
        type: 'gauge',
        help: `The largest share that is used of a quota, of the ${instancesMax} instances with most.`,
        samples: () => topOf([...quotas.ratios]),
      },
      single(
        {
          name: 'chancery_webhook_log_bytes',
          type: 'gauge',
          help: 'Bytes of the logs of events of instances whose files are open, as they are compared with --webhook-bytes.',
        },
        () => log?.counts.bytes ?? 0,
      ),
      single(
        {
          name: 'chancery_webhook_log_refused_instances',
          type: 'gauge',
          help: 'Instances whose writes are refused, as the log is full and they use more than their share of it.',
        },
        () => log?.counts.refused ?? 0,
      ),
      {
        name: 'chancery_instance_backlog',
        type: 'gauge',
        help: `Deliveries that wait to be sent, of the ${instancesMax} instances with most of them.`,
        samples: () =>
          topOf([...this.#backlog.backlogs.values()].map(({ slug, waiting }) => [slug, waiting])),
      },
    ];
  }

  /** Counts what is too costly to be counted for each reading. */
  refresh(): Promise<void> {
    return this.#backlog.refresh();
  }
}
