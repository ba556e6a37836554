import type { FastifyInstance } from 'fastify';
import type { Ledger } from '../../base/ledger.ts';
import type { InstanceEntry } from '../../instances/instance-rows.ts';
import type { InstanceHost } from '../host/instance-host.ts';
import type { OperatorKey } from '../../operator/operator-keys.ts';
import type { AnswerMemory } from '../answer-memory.ts';
import type { RequestReport } from '../instance-request.ts';
import type { CorsHeaders } from './cors.ts';
import type { RequestCounts, RouteCounts } from '../request-counts.ts';
import type { UnfinishedBodies } from '../unfinished-bodies.ts';

/** What one server shares among all of its requests: `request.server`. */
export interface ServerParts {
  /** Runs the instances. */
  readonly host: InstanceHost;
  readonly requestCounts: RequestCounts;
  /** The memory of the bodies and answers of all clients. */
  readonly memory: Ledger;
  readonly bodies: UnfinishedBodies;
}

/** What each request carries from one step to the next. */
export interface RequestMembers {
  /** When the request came, to measure how long it took: milliseconds from an arbitrary start. */
  startedMs: number;
  /** The instance that the host or the path addresses; null when they address none. */
  instanceEntry: InstanceEntry | null;
  /** Who sends a request to a route of the operator; null until that is known. */
  operatorCaller: OperatorKey | null;
  /** What the host of the instance knows of the request; null until something is to be known. */
  report: RequestReport | null;

  /** Length of the body, once it is parsed. */
  bodyBytes: number;
  /** Whether the body is a form that the route has still to read. */
  isFormWaiting: boolean;
  /** Releases the memory of the body; null where there is none. */
  releaseBody: (() => void) | null;

  /** CORS headers of the answer; null for a request that no web page sent, or one whose origin is not allowed. */
  corsHeaders: CorsHeaders | null;
  /** The memory of the answer; null until it is needed. */
  answerMemory: AnswerMemory | null;

  /** What counts the request; null until its route is called. */
  routeCounts: RouteCounts | null;
}

/**
 * All that we add to the types of Fastify. TypeScript merges it into these types throughout the program, whichever file declares it, so
 * it stands in one place.
 */
declare module 'fastify' {
  interface FastifyInstance extends ServerParts {}

  /** What a route says of itself to the steps before it: `request.routeOptions.config`. */
  interface FastifyContextConfig {
    /** The path by which all paths of a route are counted. */
    readonly pattern?: string;
    /** For a route that takes bodies of any kind as they are. */
    readonly takesBytes?: boolean | undefined;
    /** For a route that reads its bodies itself: their types. */
    readonly bodyTypes?: readonly string[] | undefined;
    /** For a route that reads forms itself, as they may hold files. */
    readonly takesFiles?: boolean;
  }

  interface FastifyRequest extends RequestMembers {}
}

/** Typed so that no member is forgotten: without an initial value, it would be undefined in spite of its type. */
const initialMembers: RequestMembers = {
  startedMs: 0,
  instanceEntry: null,
  operatorCaller: null,
  report: null,
  bodyBytes: 0,
  isFormWaiting: false,
  releaseBody: null,
  corsHeaders: null,
  answerMemory: null,
  routeCounts: null,
};

/** Adds the parts to the server, and to each of its requests the members that are declared above. */
export function decorateServer(app: FastifyInstance, parts: ServerParts): void {
  for (const [name, part] of Object.entries(parts)) app.decorate(name, part);
  for (const [name, value] of Object.entries(initialMembers)) app.decorateRequest(name, value);
}
