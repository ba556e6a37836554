import { type Metric, samplesOf, single } from '../logs/metric.ts';
import type { BacklogCounter } from '../deliveries/log/backlog.ts';
import type { Dispatcher } from './dispatcher.ts';

export interface WebhookSources {
  readonly dispatcher: Pick<Dispatcher, 'counts' | 'openAttempts' | 'countLanes'>;
  readonly backlog: BacklogCounter;
  /** How many events this process has committed. */
  readonly events: () => number;
}

/** The metrics of webhooks. Each node shows its own share of the work; the sum is that of the service. */
export function webhookMetrics({ dispatcher, backlog, events }: WebhookSources): readonly Metric[] {
  return [
    single(
      { name: 'chancery_events_total', type: 'counter', help: 'Events that this process has committed.' },
      events,
    ),
    ...attemptMetrics(dispatcher),
    ...laneMetrics(dispatcher),
    ...backlogMetrics(backlog),
  ];
}

function attemptMetrics(dispatcher: WebhookSources['dispatcher']): readonly Metric[] {
  const { counts } = dispatcher;
  return [
    {
      name: 'chancery_webhook_attempts_total',
      type: 'counter',
      help: 'Finished attempts, by outcome.',
      samples: () => samplesOf('outcome', counts.attempts),
    },
    single(
      {
        name: 'chancery_webhook_attempts_open',
        type: 'gauge',
        help: 'Open attempts, without tests of endpoints.',
      },
      () => dispatcher.openAttempts,
    ),
    single(
      {
        name: 'chancery_webhook_first_byte_seconds',
        type: 'histogram',
        help: 'From a change to the moment when its first attempt was connected, where the receiver has answered.',
      },
      () => counts.firstByteSeconds,
    ),
    single(
      {
        name: 'chancery_webhook_delivery_seconds',
        type: 'histogram',
        help: 'From a change to the answer by which it was delivered, retries included, replays left out.',
      },
      () => counts.deliverySeconds,
    ),
    single(
      {
        name: 'chancery_webhook_exhausted_total',
        type: 'counter',
        help: 'Deliveries whose last attempt has failed.',
      },
      () => counts.exhausted,
    ),
    {
      name: 'chancery_webhook_endpoints_stopped_total',
      type: 'counter',
      help: 'Endpoints that the service has paused (gone, blocked) or disabled (away).',
      samples: () => samplesOf('reason', counts.stopped),
    },
  ];
}

function laneMetrics(dispatcher: WebhookSources['dispatcher']): readonly Metric[] {
  return [
    {
      name: 'chancery_webhook_lanes',
      type: 'gauge',
      help: 'Active endpoints that this process has looked at, by the state of their lanes.',
      samples: () => samplesOf('state', dispatcher.countLanes()),
    },
    single(
      {
        name: 'chancery_webhook_open_breakers',
        type: 'gauge',
        help: 'Endpoints that fail and are only probed.',
      },
      () => {
        const { open, probing } = dispatcher.countLanes();
        return open + probing;
      },
    ),
    single(
      {
        name: 'chancery_webhook_stalled_lanes_total',
        type: 'counter',
        help: 'Stalled lanes that were woken; always 0 unless there is a bug.',
      },
      () => dispatcher.counts.stalled,
    ),
  ];
}

function backlogMetrics(backlog: BacklogCounter): readonly Metric[] {
  const instances = () => [...backlog.backlogs.values()];
  return [
    single(
      {
        name: 'chancery_webhook_backlog',
        type: 'gauge',
        help: 'Deliveries that wait to be sent to active endpoints.',
      },
      () => instances().reduce((sum, { waiting }) => sum + waiting, 0),
    ),
    single(
      {
        name: 'chancery_webhook_oldest_pending_seconds',
        type: 'gauge',
        help: 'Age of the oldest event that waits to be sent; 0 for none.',
      },
      () => instances().reduce((oldest, { ageMs }) => Math.max(oldest, ageMs), 0) / 1_000,
    ),
    single(
      {
        name: 'chancery_webhook_backlog_failures_total',
        type: 'counter',
        help: 'How often the backlog of an instance could not be read.',
      },
      () => backlog.failures,
    ),
  ];
}
