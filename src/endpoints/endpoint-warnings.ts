import type { AttemptResult } from '../sending/attempt-result.ts';
import type { Endpoint } from './endpoint.ts';
import type { WebhookInstance } from './webhook-instance.ts';

/** The warnings to the operator; docs/health.md lists them. */
const messages = {
  failing: 'An endpoint started failing.',
  exhausted: 'A delivery is exhausted.',
  paused: 'An endpoint was paused by the service.',
  disabled: 'An endpoint was disabled by the service.',
  away: 'An endpoint has accepted nothing for an hour.',
  recovered: 'An endpoint recovered.',
  expiring: 'The client certificate of an endpoint expires.',
} as const;

export interface EndpointWarning {
  readonly kind: keyof typeof messages;
  /** Id of the event, if it is about one. */
  readonly event?: string;
  /** In plain words. */
  readonly cause: string;
}

export type WarningSource = Pick<WebhookInstance, 'id' | 'clock' | 'logger'>;

/** An endpoint gets one line of each kind in this time. */
const intervalMs = 60_000;
/** Lines and endpoints that are kept, about 200 bytes each. */
const keysMax = 10_000;

/** When the last line of each kind was written for an endpoint, and how many were omitted since, in the order of writing. */
const lines = new Map<string, { readonly atMs: number; omitted: number }>();
/** The endpoints whose last attempt has failed. */
const failing = new Set<string>();

/** Writes a line, with the number of lines omitted since the last of its kind, or omits it. */
export function warnOfEndpoint(
  { id: instance, clock, logger }: WarningSource,
  { id: endpoint, url }: Pick<Endpoint, 'id' | 'url'>,
  { kind, ...members }: EndpointWarning,
): void {
  const key = `${instance}|${endpoint}|${kind}`;
  const nowMs = clock.monotonic();
  const last = lines.get(key);
  if (last !== undefined && nowMs < last.atMs + intervalMs) {
    last.omitted += 1;
    return;
  }
  lines.delete(key);
  dropOldest(lines);
  lines.set(key, { atMs: nowMs, omitted: 0 });
  // Of the URL the host alone: its path and query may hold secrets.
  const host = URL.parse(url)?.host ?? '';
  const omitted = last?.omitted ?? 0;
  logger.warn(messages[kind], {
    instance,
    endpoint,
    host,
    ...members,
    ...(omitted > 0 && { omitted }),
  });
}

/** Warns of the first attempt that fails after one that succeeded, or since this process has started. */
export function noteOutcome(
  source: WarningSource,
  endpoint: Pick<Endpoint, 'id' | 'url'>,
  { event, result }: { readonly event: string; readonly result: AttemptResult },
): void {
  if (result.kind === 'aborted') return;
  const key = `${source.id}|${endpoint.id}`;
  if (result.isSuccess) {
    failing.delete(key);
    return;
  }
  if (failing.has(key)) return;
  dropOldest(failing);
  failing.add(key);
  warnOfEndpoint(source, endpoint, { kind: 'failing', event, cause: result.cause });
}

function dropOldest(remembered: Map<string, unknown> | Set<string>): void {
  const [oldest] = remembered.keys();
  if (oldest !== undefined && remembered.size >= keysMax) remembered.delete(oldest);
}
