import { AppError, busy } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { decodeUtf8, parseJson } from '../base/json.ts';
import { type GuardedRequests, readBody } from '../network/guarded-requests.ts';

export const providerLimits = {
  /** All requests of one sign-in together. */
  signInMs: 15_000,
  /** Of the requests by which its discovery document is read, while a client waits for a list of ways to sign in. */
  discoveryMs: 5_000,
  /** Of one answer. */
  answerBytesMax: 256 * 1024,
  /** Of a discovery document and of keys, which are cached. */
  metadataBytesMax: 64 * 1024,
  /** Of a picture; the field that it is for may have a lower limit. */
  pictureBytesMax: 5 * 1024 * 1024,
} as const;

/** Sign-ins at providers at the same time: in the process, and of one instance. */
const queueLimits = {
  runningMax: 64,
  runningOfInstanceMax: 16,
  waitingMax: 512,
  waitingOfInstanceMax: 64,
  waitingOfAddressMax: 8,
  waitMsMax: 10_000,
} as const;

/** The provider did not answer as it should. The message is for superusers: it names no secret. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
}

export interface ProviderRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ProviderAnswer {
  readonly status: number;
  readonly mediaType: string;
  readonly body: Buffer;
}

/** Sends a request to a URL. Throws ProviderFailure. */
export type SendToProvider = (
  url: string,
  request: ProviderRequest,
  bytesMax?: number,
) => Promise<ProviderAnswer>;

export interface RequestOptions {
  /** Of this service, which it tells providers. */
  readonly version: string;
  /** How long all requests of one sign-in may take, for tests. */
  readonly signInMs?: number;
}

/**
 * The way to providers. Whoever may sign in makes the service send requests, so that they are bounded: how many run, how long they take, and
 * what is read of an answer. They go where superusers may send anything, follow no redirect, and have no cookies.
 */
export class ProviderRequests {
  readonly #requests: Pick<GuardedRequests, 'send'>;
  readonly #queue = new FairQueue(queueLimits);
  readonly #version: string;
  readonly #signInMs: number;

  constructor(
    requests: Pick<GuardedRequests, 'send'>,
    { version, signInMs = providerLimits.signInMs }: RequestOptions,
  ) {
    this.#requests = requests;
    this.#version = version;
    this.#signInMs = signInMs;
  }

  /** Runs the requests of one sign-in in their turn, for so long at most. Throws unavailable when too many wait. */
  async run<Result>(
    share: Share,
    work: (send: SendToProvider) => Promise<Result>,
    timeoutMs = this.#signInMs,
  ): Promise<Result> {
    const result = this.#queue.run(share, () => {
      const deadline = AbortSignal.timeout(timeoutMs);
      return work((url, request, bytesMax = providerLimits.answerBytesMax) =>
        this.#send({ url, bytesMax, signal: deadline }, request),
      );
    });
    if (result === undefined) throw busy();
    return result;
  }

  async #send(
    {
      url: text,
      bytesMax,
      signal,
    }: { readonly url: string; readonly bytesMax: number; readonly signal: AbortSignal },
    { method, headers, body }: ProviderRequest,
  ): Promise<ProviderAnswer> {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) throw new ProviderFailure('its URL is not valid');
    const own = { 'accept-encoding': 'identity', 'user-agent': `Chancery/${this.#version}` };
    try {
      const answer = await this.#requests.send({
        url,
        method,
        headers: { ...own, ...headers },
        body,
        signal,
      });
      const type = [answer.headers['content-type'] ?? ''].flat()[0] ?? '';
      const mediaType = (type.split(';')[0] ?? '').trim().toLowerCase();
      const content = await readBody(
        answer.body,
        bytesMax,
        () => new ProviderFailure(`its answer is larger than ${bytesMax} bytes`),
      );
      return { status: answer.status, mediaType, body: content };
    } catch (error) {
      if (error instanceof ProviderFailure) throw error;
      const reason = signal.aborted ? 'it did not answer in time' : messageOf(error);
      throw new ProviderFailure(`the request to ${url.host} failed: ${reason}`, { cause: error });
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the JSON of an answer. Throws ProviderFailure. */
export function jsonOf({ mediaType, body }: ProviderAnswer): unknown {
  if (!/[/+]json$/.test(mediaType))
    throw new ProviderFailure(`its answer is ${mediaType === '' ? 'of no type' : mediaType} and not JSON`);
  return strictJson(body);
}

/** Parses JSON within the limits of requests: what it has goes on to clients. Throws ProviderFailure. */
export function strictJson(bytes: Buffer): unknown {
  try {
    return parseJson(decodeUtf8(bytes));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new ProviderFailure(`its JSON cannot be read: ${error.message}`, { cause: error });
  }
}
