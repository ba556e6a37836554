import { setTimeout as sleep } from 'node:timers/promises';
import { version } from '../../app.ts';
import { systemClock } from '../../base/clock.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { codeOf } from '../../base/process.ts';
import { headersByName, requestHeaders } from '../../sending/signature.ts';
import { type Api, ApiRefusal, itemsOf, objectOf, Unreachable } from '../api/api.ts';
import { diagnoseWebhook } from '../doctor/diagnose-webhook.ts';

/** What has become of an event that was heard. */
export interface ReceivedEvent {
  readonly time: string;
  readonly event: string;
  readonly collection: string;
  readonly record: string;
  readonly id: string;
  readonly sequence: number;
  /** `ok`, or what is wrong with the signature of an endpoint; null where nothing was verified. */
  readonly signature: string | null;
  readonly forward: ForwardResult | null;
}

export interface ForwardResult {
  readonly status: number | null;
  /** Why there is no answer; null where there is one. */
  readonly error: string | null;
  readonly ms: number;
}

export interface SubscriptionOptions {
  readonly forward: string | undefined;
  readonly endpoint: string | undefined;
  readonly secret: string | undefined;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Where to begin, as parameters of the feed. */
  readonly start: Readonly<Record<string, string>>;
  readonly interrupt: AbortSignal;
  /** Shows an event; resolves to false when nobody looks any more. */
  readonly show: (event: ReceivedEvent) => Promise<boolean>;
  /** Says something that is no event. */
  readonly note: (text: string) => void;
}

const waitSeconds = 20;
const delaySecondsMax = 30;
const forwardMsMax = 30_000;
/** As many events as are forwarded before their signatures could be too old for a receiver that takes a second for each. */
const pageSize = 100;

/**
 * Reads the feed until it is interrupted, and shows and forwards each event in order. Nothing of it is kept by the service. Failures to
 * reach the service are waited for; what it refuses is thrown. Resolves to the cursor at which a later run goes on.
 */
export async function subscribeToEvents(api: Api, options: SubscriptionOptions): Promise<string> {
  const { endpoint, query, interrupt, note } = options;
  let place = options.start;
  let failures = 0;
  while (!interrupt.aborted) {
    const parameters = { ...query, ...place, signed: endpoint, wait: waitSeconds, perPage: pageSize };
    const read = api.request('GET', '/api/webhooks/feed', {
      query: parameters,
      signal: interrupt,
      waitMs: waitSeconds * 1_000,
    });
    const answer = await read.catch((error: unknown) => errorOf(error, interrupt));
    if (answer instanceof Error) {
      if (interrupt.aborted) break;
      const seconds = Math.min(delaySecondsMax, 2 ** failures);
      failures += 1;
      note(`${answer.message} Trying again in ${seconds} s.`);
      await sleep(seconds * 1_000, undefined, { signal: interrupt }).catch(() => undefined);
      continue;
    }
    if (failures > 0) note(`Connected to ${api.place} again.`);
    failures = 0;
    const { nextCursor } = objectOf(answer);
    for (const item of itemsOf(answer)) {
      // Those that were not handled come again from the cursor before them.
      if (interrupt.aborted) return place['cursor'] ?? '';
      if (!(await options.show(await handle(item, options)))) return String(nextCursor);
    }
    place = { cursor: String(nextCursor) };
  }
  return place['cursor'] ?? '';
}

/** Returns an error that may be over after a while. Throws any other. */
function errorOf(error: unknown, interrupt: AbortSignal): Error {
  const isPassing =
    error instanceof ApiRefusal ? error.status === 429 || error.status >= 500 : error instanceof Unreachable;
  if (error instanceof Error && (isPassing || interrupt.aborted)) return error;
  throw error;
}

async function handle(item: JsonObject, options: SubscriptionOptions): Promise<ReceivedEvent> {
  const payload = isJsonObject(item['payload']) ? item['payload'] : {};
  const data = isJsonObject(payload['data']) ? payload['data'] : {};
  const webhook = webhookOf(item, payload, options);
  const verified =
    options.endpoint === undefined || options.secret === undefined
      ? null
      : verdictOf(webhook, options.secret);
  return {
    time: String(payload['timestamp']),
    event: String(payload['event']),
    collection: String(payload['collection']),
    record: String(data['id']),
    id: String(item['id']),
    sequence: Number(item['sequence']),
    signature: verified,
    forward:
      options.forward === undefined ? null : await forwardTo(options.forward, webhook, options.interrupt),
  };
}

interface SignedWebhook {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the request that an endpoint would get: as the service has signed it, or signed here. */
function webhookOf(
  item: JsonObject,
  payload: JsonObject,
  { secret = '' }: SubscriptionOptions,
): SignedWebhook {
  const { body, headers } = item;
  if (typeof body === 'string' && isJsonObject(headers)) {
    const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
    return { body, headers: Object.fromEntries(pairs) };
  }
  const text = JSON.stringify(payload);
  const [id, endpointId] = [String(item['id']), 'listen'];
  const request = {
    deliveryId: `${id}-${endpointId}`,
    endpointId,
    url: '',
    body: Buffer.from(text),
    isThin: false,
    eventId: id,
    event: String(payload['event']),
    collection: String(payload['collection']),
    attempt: 1,
    sequence: Number(item['sequence']),
    traceparent: '',
    tracestate: '',
    customHeaders: {},
    secrets: [secret],
    timeoutMs: forwardMsMax,
    version,
  };
  const flat = requestHeaders(request, Math.floor(systemClock.now() / 1_000));
  return { body: text, headers: headersByName(flat) };
}

/** Returns `ok`, or the first thing that is wrong with a signature. */
function verdictOf({ body, headers }: SignedWebhook, secret: string): string {
  const pairs = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]] as const);
  const checks = diagnoseWebhook({
    secret,
    headers: new Map(pairs),
    body: Buffer.from(body),
    nowSeconds: Math.floor(systemClock.now() / 1_000),
    toleranceSeconds: 300,
  });
  return checks.find(({ state }) => state === 'failure')?.message ?? 'ok';
}

async function forwardTo(
  url: string,
  { body, headers }: SignedWebhook,
  interrupt: AbortSignal,
): Promise<ForwardResult> {
  const begin = systemClock.monotonic();
  const since = (): number => Math.round(systemClock.monotonic() - begin);
  const signal = AbortSignal.any([interrupt, AbortSignal.timeout(forwardMsMax)]);
  try {
    const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    await answer.body?.cancel();
    return { status: answer.status, error: null, ms: since() };
  } catch (error) {
    return { status: null, error: reasonOf(error), ms: since() };
  }
}

/** Returns in a word why there is no answer. What fetch throws has it in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'no answer';
  if (error.name === 'AbortError') return 'interrupted';
  return codeOf(error.cause) || (error.cause instanceof Error ? error.cause.message : error.message);
}
