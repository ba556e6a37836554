import autocannon, { type Request } from 'autocannon';
import { processorTimeUs, processorUsEach } from './processor-time.ts';

export interface Load {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PATCH';
  /** None for GET. */
  readonly body?: string;
  /** In turn, in place of the one of `url`: written once, so that they take no more of the load's processor than one does. */
  readonly paths?: readonly string[];
  /** Another path, and method and body if it has them, for each request; which takes the load's processor a while each time. */
  readonly next?: () => NextRequest;
  /** Whether bodies are JSON, where `next` has them. */
  readonly isJson?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections?: number;
  /** Requests a second, of all connections together; as many as are answered where it is not given. */
  readonly rate?: number;
  readonly seconds: number;
  /** Threads of their own that ask, where this one has something else to measure. */
  readonly workers?: number;
  /** Of the server, to tell its processor time. */
  readonly pid?: number | undefined;
}

export interface NextRequest {
  readonly path: string;
  readonly method?: Load['method'] & string;
  readonly body?: string;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Bytes of one answer, headers included. */
  readonly answerBytes: number;
  /** The server's processor time for a request; undefined where the system does not tell. */
  readonly processorUs: number | undefined;
}

/** Keeps `connections` busy for `seconds`; throws when an answer was no 2xx. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const before = processorTimeUs(load.pid);
  const result = await autocannon({
    url: load.url,
    method: load.method ?? 'GET',
    connections: load.connections ?? 64,
    duration: load.seconds,
    ...(load.workers === undefined ? {} : { workers: load.workers }),
    ...(load.rate === undefined ? {} : { overallRate: load.rate }),
    headers: {
      ...(load.body === undefined && load.method === undefined && load.isJson !== true
        ? {}
        : { 'content-type': 'application/json' }),
      ...load.headers,
    },
    ...(load.body === undefined ? {} : { body: load.body }),
    ...(load.paths === undefined ? {} : { requests: load.paths.map((path) => ({ path })) }),
    ...(load.next === undefined ? {} : { requests: [{ setupRequest: changing(load.next) }] }),
  });
  if (result.non2xx > 0 || result.errors > 0) {
    const statuses = JSON.stringify(result.statusCodeStats);
    throw new Error(
      `${load.url}: not all answers are a 2xx: ${statuses}; ${result.errors} connections failed`,
    );
  }
  const total = result.requests.total;
  return {
    perSecond: total / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    answerBytes: Math.round(result.throughput.total / total),
    processorUs: processorUsEach(load.pid, before, total),
  };
}

function changing(next: NonNullable<Load['next']>): (request: Request) => Request {
  // Headers of their own, or those of a request without a body would have the length of the body before it.
  return (request) => ({ ...request, headers: { ...request.headers }, ...next() });
}
