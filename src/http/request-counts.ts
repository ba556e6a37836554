import type { FastifyRequest } from 'fastify';
import { systemClock } from '../base/clock.ts';
import { Histogram, secondsBounds } from '../base/histogram.ts';

/** Requests of one route by one method. */
export interface RouteCounts {
  readonly route: string;
  readonly method: string;
  /** By the first digit of the status. */
  readonly classes: Float64Array;
  readonly seconds: Histogram;
}

export interface InstanceCounts {
  requests: number;
  /** Those that have changed something, or may have. */
  writes: number;
  sentBytes: number;
}

/** The methods that are told apart; a client may write any other. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const readMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Counts requests when their answers are sent. Only plain numbers change, in objects that are there already: a request costs a look-up of its
 * instance. Whatever clients ask for, there are only as many counts as routes, methods and instances.
 */
export class RequestCounts {
  readonly #routes = new Map<string, RouteCounts>();
  /** By the id of the instance. */
  readonly instances = new Map<string, InstanceCounts>();
  sentBytes = 0;
  sentFileBytes = 0;
  receivedFileBytes = 0;

  get routes(): IteratorObject<RouteCounts> {
    return this.#routes.values();
  }

  /** What counts requests for a route, by its own method or by HEAD. */
  of(route: { readonly paths: readonly string[] }, method: string): RouteCounts {
    return this.#find(patternOf(route), method);
  }

  /** Counts a request that is being answered with so many bytes. */
  note(request: FastifyRequest<object>, status: number, bytes: number): void {
    const { classes, seconds } = request.routeCounts ?? this.#findFor(request);
    const at = Math.floor(status / 100);
    classes[at] = (classes[at] ?? 0) + 1;
    seconds.noteMs(systemClock.monotonic() - request.startedMs);
    this.sentBytes += bytes;
    const { instanceEntry } = request;
    if (instanceEntry === null) return;
    let counts = this.instances.get(instanceEntry.id);
    if (counts === undefined)
      this.instances.set(instanceEntry.id, (counts = { requests: 0, writes: 0, sentBytes: 0 }));
    counts.requests += 1;
    if (status < 400 && !readMethods.has(request.method)) counts.writes += 1;
    counts.sentBytes += bytes;
  }

  /** Returns the pattern by which a request is counted. */
  routeOf(request: FastifyRequest<object>): string {
    return (request.routeCounts ?? this.#findFor(request)).route;
  }

  /** Finds what counts a request that was refused before its route was called. */
  #findFor(request: FastifyRequest<object>): RouteCounts {
    const { method } = request.raw;
    const route = request.routeOptions.config?.pattern ?? 'none';
    return this.#find(route, method !== undefined && methods.has(method) ? method : 'other');
  }

  #find(route: string, method: string): RouteCounts {
    const key = `${method} ${route}`;
    let counts = this.#routes.get(key);
    if (counts === undefined) {
      counts = { route, method, classes: new Float64Array(6), seconds: new Histogram(secondsBounds) };
      this.#routes.set(key, counts);
    }
    return counts;
  }
}

/** The path by which a route is counted, whichever of its paths was asked for. */
export function patternOf({ paths }: { readonly paths: readonly string[] }): string {
  return paths[0] ?? '';
}
