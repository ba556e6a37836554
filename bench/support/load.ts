import autocannon, { type Request } from 'autocannon';

export interface Load {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PATCH';
  /** None for GET. */
  readonly body?: string;
  /** Another path and body for each request. */
  readonly next?: () => { readonly path: string; readonly body: string };
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections?: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Bytes of one answer, headers included. */
  readonly answerBytes: number;
}

/** Keeps `connections` busy for `seconds`; throws when an answer was no 2xx. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const result = await autocannon({
    url: load.url,
    method: load.method ?? 'GET',
    connections: load.connections ?? 64,
    duration: load.seconds,
    headers: {
      ...(load.body === undefined && load.next === undefined ? {} : { 'content-type': 'application/json' }),
      ...load.headers,
    },
    ...(load.body === undefined ? {} : { body: load.body }),
    ...(load.next === undefined ? {} : { requests: [{ setupRequest: changing(load.next) }] }),
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${load.url}: ${result.non2xx} answers were no 2xx, ${result.errors} connections failed`);
  }
  const total = result.requests.total;
  return {
    perSecond: total / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    answerBytes: Math.round(result.throughput.total / total),
  };
}

function changing(next: NonNullable<Load['next']>): (request: Request) => Request {
  return (request) => ({ ...request, ...next() });
}
