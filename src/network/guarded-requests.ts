import type { Readable } from 'node:stream';
import type { Agent, buildConnector } from 'undici';
import type { Clock } from '../base/clock.ts';
import type { NetworkPolicy } from './address-guard.ts';
import { guardedConnect } from './guarded-connect.ts';
import { HostResolver } from './host-resolver.ts';

/** Limits of one request to a server that the superusers of an instance have named. */
const requestLimits = {
  connectMsMax: 10_000,
  /** From the last byte of the request to the first of the answer. */
  answerMsMax: 60_000,
  /** Between two pieces of the answer, while they are wanted. */
  pauseMsMax: 60_000,
  /** To one server at the same time; more wait. */
  connectionsMax: 256,
  headerBytesMax: 32 * 1024,
} as const;

export interface GuardedRequest {
  readonly url: URL;
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Readable | undefined;
  /** Ends the request, at whatever point it is. */
  readonly signal?: AbortSignal;
}

export interface GuardedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Must be read, destroyed or discarded. */
  readonly body: Readable;
  /** Lets the connection be used again, unless there is much to discard. */
  readonly discard: () => Promise<void>;
}

export interface GuardedRequestsOptions {
  readonly policy: NetworkPolicy;
  readonly clock: Clock;
}

/**
 * Requests to servers that the superusers of an instance have named, on connections that are kept for a few seconds. Each connection goes
 * to an address that was checked; no redirect is followed, and no proxy is used, whatever the environment sets.
 */
export class GuardedRequests {
  readonly #options: GuardedRequestsOptions;
  readonly #resolver = new HostResolver();
  #agent: Promise<Agent> | undefined;

  constructor(options: GuardedRequestsOptions) {
    this.#options = options;
  }

  /** Sends a request. Rejects with a ConnectFailure, or with an error of undici. */
  async send({ url, method, headers, body, signal }: GuardedRequest): Promise<GuardedAnswer> {
    const agent = await (this.#agent ??= this.#open());
    const { origin, pathname, search } = url;
    const answer = await agent.request({
      origin,
      path: pathname + search,
      method,
      headers,
      body: body ?? null,
      signal: signal ?? null,
    });
    const { statusCode: status, headers: answered, body: content } = answer;
    return { status, headers: answered, body: content, discard: () => content.dump().catch(() => undefined) };
  }

  /** Ends all requests. */
  async stop(): Promise<void> {
    this.#resolver.stop();
    await (await this.#agent)?.destroy();
  }

  /** Imported on demand: most processes keep nothing elsewhere. */
  async #open(): Promise<Agent> {
    const { Agent } = await import('undici');
    return new Agent({
      connect: (options, callback) => void this.#connect(options, callback),
      connections: requestLimits.connectionsMax,
      headersTimeout: requestLimits.answerMsMax,
      bodyTimeout: requestLimits.pauseMsMax,
      maxHeaderSize: requestLimits.headerBytesMax,
    });
  }

  async #connect(options: buildConnector.Options, callback: buildConnector.Callback): Promise<void> {
    const { policy, clock } = this.#options;
    const isSecure = options.protocol === 'https:';
    try {
      const socket = await guardedConnect(
        {
          tls: isSecure ? 'now' : 'never',
          protocols: ['http/1.1'],
          host: options.hostname.replace(/^\[(.*)\]$/, '$1'),
          port: Number(options.port) || (isSecure ? 443 : 80),
          refusal: 'The address is not allowed.',
        },
        { policy, clock, resolver: this.#resolver },
        {
          deadline: clock.monotonic() + requestLimits.connectMsMax,
          timings: { dnsMs: null, connectMs: null, tlsMs: null },
          signal: AbortSignal.timeout(requestLimits.connectMsMax),
        },
      );
      callback(null, socket);
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
    }
  }
}

/** Reads a whole body. Throws what `tooLong` returns once it has more than so many bytes; the connection is then destroyed. */
export async function readBody(
  body: GuardedAnswer['body'],
  bytesMax: number,
  tooLong: () => Error,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body) {
    // undici returns bytes.
    const bytes = piece as Buffer;
    length += bytes.length;
    if (length > bytesMax) throw tooLong();
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}
