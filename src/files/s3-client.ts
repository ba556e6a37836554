import { createReadStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { randomUnit } from '../base/ids.ts';
import { codeOf } from '../base/process.ts';
import {
  type GuardedAnswer,
  type GuardedRequest,
  type GuardedRequests,
  readBody,
} from '../network/guarded-requests.ts';
import { ConnectFailure } from '../network/open-socket.ts';
import { fileDigest, hexDigest } from '../secrets/digest.ts';
import { bucketUrl, endpointUrl, isBucketName } from '../settings/bucket-url.ts';
import type { S3Settings } from '../settings/settings.ts';
import type { ByteRange } from './blob-store.ts';
import { xmlElements } from './xml-elements.ts';

/** The most attempts of a request where the network or the store is at fault. */
const triesMax = 4;
/** The longest wait before the second try; it doubles with each. */
const retryMs = 200;

/** Enough for a page of a listing; no store sends a longer answer. */
const answerBytesMax = 4 * 1024 * 1024;

/** A request to the store failed: it is unreachable, refused it, or sent an invalid answer. Clients may retry. */
export class S3Failure extends AppError {
  /** A sentence for the operators of the store, without its secrets. */
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super('unavailable', 'The service is busy, try again.', {
      retryAfter: 5,
      explanation: `Files in S3: ${reason}`,
      cause,
    });
    this.reason = reason;
  }
}

export interface S3Request {
  readonly method: GuardedRequest['method'];
  /** Empty for the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | FileRange;
}

/** A part of a file on the local disk, which is read anew for each try. */
export interface FileRange extends ByteRange {
  readonly path: string;
}

export interface S3ClientOptions {
  readonly settings: S3Settings;
  readonly requests: GuardedRequests;
  readonly clock: Clock;
}

/** Signs requests to a bucket, and sends them again where that may help. */
export class S3Client {
  readonly #options: S3ClientOptions;
  /** Keys of signatures, which change every day. */
  readonly #signingKeys = new Map<string, ArrayBuffer>();

  constructor(options: S3ClientOptions) {
    this.#options = options;
  }

  /** Returns an answer of success, or 404. Throws S3Failure for any other. */
  async send(request: S3Request): Promise<GuardedAnswer> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#try(request);
      if (!(outcome instanceof S3Failure)) return outcome;
      if (!(outcome instanceof PassingFailure) || tries === triesMax) throw outcome;
      // Spread over the whole time: what failed together must not come back together.
      await delay(retryMs * 2 ** (tries - 1) * randomUnit());
    }
  }

  /** As {@link send}, with the answer as text. */
  async sendForText(request: S3Request): Promise<string> {
    const answer = await this.send(request);
    if (answer.status === 404) throw await failureOf(answer);
    const answered = await textOf(answer);
    // The store answers 200 before it has finished joining the parts of a file.
    const [error] = await xmlElements(answered, 'Error');
    if (error !== undefined) throw new S3Failure(sentenceOf(answer.status, error.get('Code')));
    return answered;
  }

  async #try(request: S3Request): Promise<GuardedAnswer | S3Failure> {
    let answer;
    try {
      answer = await this.#options.requests.send(await this.#sign(request));
    } catch (error) {
      return connectionFailure(error);
    }
    if ((answer.status >= 200 && answer.status < 300) || answer.status === 404) return answer;
    return failureOf(answer);
  }

  async #sign({ method, key = '', query = {}, headers = {}, body }: S3Request): Promise<GuardedRequest> {
    const { settings, clock } = this.#options;
    const url = urlOf(settings, key, query);
    const { AwsV4Signer } = await import('aws4fetch');
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': await digestOf(body) },
      accessKeyId: settings.accessKey,
      secretAccessKey: settings.secret,
      region: settings.region,
      service: 's3',
      cache: this.#keysOfToday(),
      datetime: new Date(clock.now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, ''),
    });
    const signed = await signer.sign();
    return {
      url,
      method,
      headers: { ...Object.fromEntries(signed.headers), ...lengthOf(body) },
      body: typeof body === 'object' ? createReadStream(body.path, rangeOf(body)) : body,
    };
  }

  #keysOfToday(): Map<string, ArrayBuffer> {
    if (this.#signingKeys.size > 1) this.#signingKeys.clear();
    return this.#signingKeys;
  }
}

/** A failure that may be over soon. */
class PassingFailure extends S3Failure {}

/** Returns the address of a key, by host or by path. Throws S3Failure for settings that make none. */
function urlOf(settings: S3Settings, key: string, query: Readonly<Record<string, string>>): URL {
  // Settings are checked when they are saved. Older ones were not.
  if (endpointUrl(settings.endpoint) === undefined) throw new S3Failure('The endpoint is no address.');
  if (!isBucketName(settings)) throw new S3Failure('The bucket has a name that none can have.');
  const search = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const path = key.split('/').map(encodeURIComponent).join('/');
  const url = bucketUrl(settings, `${path}${search.length === 0 ? '' : '?'}${search.join('&')}`);
  if (url === undefined) throw new S3Failure('The endpoint and the bucket make no address.');
  return url;
}

async function digestOf(body: S3Request['body']): Promise<string> {
  return typeof body === 'object' ? fileDigest(body.path, rangeOf(body)) : hexDigest(body ?? '');
}

/** Returns the range as `createReadStream` takes it. */
function rangeOf({ first, last }: FileRange): { readonly start: number; readonly end: number } {
  return { start: first, end: last };
}

function lengthOf(body: S3Request['body']): Readonly<Record<string, string>> {
  if (body === undefined) return {};
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.last - body.first + 1;
  return { 'content-length': String(length) };
}

function connectionFailure(error: unknown): S3Failure {
  if (error instanceof S3Failure) return error;
  // A file that is to be sent cannot be read: no fault of the store.
  if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EIO') throw error;
  if (!(error instanceof ConnectFailure)) return new PassingFailure('The connection was lost.', error);
  return error.kind === 'refused'
    ? new S3Failure(error.message, error)
    : new PassingFailure(error.message, error);
}

async function failureOf(answer: GuardedAnswer): Promise<S3Failure> {
  const { status } = answer;
  const [error] = await xmlElements(await textOf(answer), 'Error');
  const reason = sentenceOf(status, error?.get('Code'));
  return status >= 500 || status === 429 || status === 408
    ? new PassingFailure(reason)
    : new S3Failure(reason);
}

function sentenceOf(status: number, code: string | undefined): string {
  const named = code !== undefined && /^[A-Za-z]{1,64}$/.test(code) ? ` (${code})` : '';
  return `The store answered with status ${status}${named}.`;
}

async function textOf({ body }: GuardedAnswer): Promise<string> {
  try {
    const tooLong = (): S3Failure => new S3Failure('The answer is too long.');
    return new TextDecoder().decode(await readBody(body, answerBytesMax, tooLong));
  } catch (error) {
    throw error instanceof S3Failure ? error : new PassingFailure('The response was cut off.', error);
  }
}
