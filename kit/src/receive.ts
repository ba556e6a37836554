import { verifyBatch } from './batch.ts';
import type { RecordOrder, RecordOutcome } from './record-order.ts';
import { handleOnce, type SeenStore } from './seen.ts';
import {
  type HeaderSource,
  type PublicKeys,
  type Secrets,
  type VerifyOptions,
  type Webhook,
} from './verify.ts';
import { BodySizeError, WebhookError } from './webhook-errors.ts';
import type { AnyRecords } from './webhook-event.ts';

/** What a receiver says once, whatever server it runs in. */
export interface ReceiveOptions<Records = AnyRecords> extends Omit<VerifyOptions, 'secret' | 'publicKey'> {
  /** Either this or `publicKey`. A function is asked at every request: for secrets that change, or that are not there yet when the module is loaded. */
  readonly secret?: Secrets | (() => Secrets | Promise<Secrets>);
  /** The public keys of the instance. A function is asked at every request, and should keep what it has fetched for some minutes. */
  readonly publicKey?: PublicKeys | (() => PublicKeys | Promise<PublicKeys>);
  /**
   * Does the work. The webhook counts as delivered when this ends before the endpoint's `timeoutMs`, and comes again when it throws. For a
   * batch it is called for one event after the other; all of them come again when it throws, so use `seen`.
   */
  readonly onWebhook: (webhook: Webhook<Records>) => unknown;
  /** Keeps webhooks from being handled twice: `new MemorySeen()`, or a store of your own. */
  readonly seen?: SeenStore;
  /** Drops or holds older states of a record. */
  readonly order?: RecordOrder;
  /** The longest body that is read. 5 MiB by default: Chancery sends none above 4 MiB. */
  readonly bodyBytesMax?: number;
}

/** The answer to a request, as plain text. The delivery log of Chancery shows it. */
export interface ReceiveAnswer {
  readonly status: number;
  readonly text: string;
}

export interface ReceivedRequest {
  readonly headers: HeaderSource;
  /** Reads the body, or throws a BodySizeError. Called once. */
  readonly readBody: (bytesMax: number) => Promise<Uint8Array | string>;
}

export const bodyBytesMaxDefault = 5 * 1024 * 1024;

/**
 * Verifies a request and has it handled. A request that is not genuine is answered with what is wrong; whatever else throws, in
 * `onWebhook` above all, is thrown on to the server, whose answer makes Chancery send the webhook again.
 */
export async function receive<Records = AnyRecords>(
  options: ReceiveOptions<Records>,
  { headers, readBody }: ReceivedRequest,
): Promise<ReceiveAnswer> {
  const { secret, publicKey, onWebhook, seen, order, bodyBytesMax = bodyBytesMaxDefault, ...rest } = options;
  let webhooks: readonly Webhook<Records>[];
  try {
    const secrets = typeof secret === 'function' ? await secret() : secret;
    const keys = typeof publicKey === 'function' ? await publicKey() : publicKey;
    const signers = {
      ...((secrets !== undefined || keys === undefined) && { secret: secrets ?? '' }),
      ...(keys !== undefined && { publicKey: keys }),
    };
    webhooks = await verifyBatch<Records>({ ...rest, ...signers }, headers, await readBody(bodyBytesMax));
  } catch (error) {
    if (error instanceof WebhookError) return { status: error.status, text: error.message };
    throw error;
  }
  const [first = { status: 200, text: 'ok' }, ...others] = await handleAll(webhooks, {
    onWebhook,
    seen,
    order,
  });
  return others.find(({ status }) => status !== 200) ?? first;
}

type Handling<Records> = Pick<ReceiveOptions<Records>, 'onWebhook'> & {
  readonly seen: SeenStore | undefined;
  readonly order: RecordOrder | undefined;
};

/** Handles the events of a batch in their order, up to the first that cannot be handled now. */
async function handleAll<Records>(
  webhooks: readonly Webhook<Records>[],
  handling: Handling<Records>,
): Promise<readonly ReceiveAnswer[]> {
  const answers: ReceiveAnswer[] = [];
  for (const webhook of webhooks) {
    const answer = await handle(webhook, handling);
    answers.push(answer);
    if (answer.status !== 200) break;
  }
  return answers;
}

async function handle<Records>(
  webhook: Webhook<Records>,
  { onWebhook, seen, order }: Handling<Records>,
): Promise<ReceiveAnswer> {
  const { event } = webhook;
  if (event.event === 'endpoint.verify') return { status: 200, text: event.data.challenge };
  const done: { outcome: RecordOutcome } = { outcome: 'handled' };
  const work = async (): Promise<void> => {
    if (order === undefined) await onWebhook(webhook);
    else done.outcome = await order.handle(webhook, () => onWebhook(webhook));
  };
  const before = seen === undefined ? await workAnyhow(work) : await handleOnce(seen, webhook.id, work);
  // An error, so that the webhook comes again should the work that is going on fail.
  if (before === 'in progress') return { status: 409, text: 'The same webhook is being handled.' };
  if (before === 'handled') return { status: 200, text: 'The same webhook was handled before.' };
  return {
    status: 200,
    text: done.outcome === 'older' ? 'A later state of the record was handled before.' : 'ok',
  };
}

async function workAnyhow(work: () => Promise<void>): Promise<'new'> {
  await work();
  return 'new';
}

/** Refuses a body by the length that the request says, before a byte of it is read. */
export function checkLength(contentLength: unknown, bytesMax: number): void {
  if (Number(contentLength) > bytesMax) throw new BodySizeError(bytesMax);
}

/** Reads chunks to their end, or throws as soon as they are longer than allowed. */
export async function readChunks(
  chunks: AsyncIterable<Uint8Array | string>,
  bytesMax: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
    length += bytes.length;
    if (length > bytesMax) throw new BodySizeError(bytesMax);
    parts.push(bytes);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
