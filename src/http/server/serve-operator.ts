import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../base/errors.ts';
import { httpLimits } from '../connections.ts';
import {
  findOperatorCaller,
  hasOperatorKey,
  type OperatorKey,
  requireOperatorScope,
} from '../../operator/operator-keys.ts';
import type { OperatorControl } from '../../operator/operator-control.ts';
import { checkFields } from '../answer.ts';
import { peerAddress } from '../client-address.ts';
import type { InstanceHost } from '../host/instance-host.ts';
import { HostCalls } from './host-calls.ts';
import {
  operatorActor,
  OperatorContext,
  type OperatorRequest,
  type OperatorServices,
} from '../operator-context.ts';
import { parseBody } from '../parse-body.ts';
import { patternOf } from '../request-counts.ts';
import { hasInstancePrefix, queryOf } from '../request.ts';
import { operatorPrefix, type OperatorRoute } from '../route.ts';
import { receiveBody } from './receive-body.ts';
import { instanceRoutes } from './routes.ts';
import { sendAnswer } from './send-answer.ts';

export interface OperatorServing extends Omit<OperatorServices, 'operator'> {
  /** Undefined where the routes of the operator are not served. */
  readonly operator?: OperatorControl | undefined;
  /** As server.ts has it. */
  readonly operatorCaller?: OperatorKey | undefined;
  readonly host: InstanceHost;
}

/**
 * Serves a route of the operator. Who asks is found before anything of the body is read: nobody else may keep the service busy with it, and
 * without keys not even a wrong body shows that there is such a route.
 */
export function serveOperatorRoute(
  app: FastifyInstance,
  serving: OperatorServing,
  route: OperatorRoute,
): void {
  const { method, paths } = route;
  const counts = app.requestCounts.of(route, method);
  const countsOfHead = app.requestCounts.of(route, 'HEAD');
  for (const url of paths)
    app.route({
      method,
      url,
      config: { pattern: patternOf(route), bodyTypes: route.bodyTypes },
      onRequest: async (request, reply) => {
        const { operator } = serving;
        if (operator === undefined || hasInstancePrefix(request.raw)) throw notFound();
        const { authorization } = request.headers;
        const guest = operatorActor(factsOf(request, reply));
        request.operatorCaller =
          serving.operatorCaller ?? (await findOperatorCaller(operator, authorization, guest));
      },
      handler: async (request, reply) => {
        request.routeCounts = request.method === 'HEAD' ? countsOfHead : counts;
        try {
          await answer(route, serving, { request, reply });
        } catch (error) {
          // Gigabytes may follow of a body that nobody reads.
          if (route.bodyTypes !== undefined && !request.raw.complete) reply.header('connection', 'close');
          throw error;
        } finally {
          request.answerMemory?.release();
          request.releaseBody?.();
        }
      },
    });
}

async function answer(
  route: OperatorRoute,
  serving: OperatorServing,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<void> {
  const { operator, host, readiness, directory, metrics } = serving;
  const caller = request.operatorCaller;
  if (operator === undefined || caller === null) throw notFound();
  requireOperatorScope(caller, route.scope);
  const facts = factsOf(request, reply);
  checkFields(facts.query);
  const bytes = Buffer.isBuffer(request.body) ? request.body : undefined;
  const body = await parseBody(route, { ...facts, bytes });
  const calls = new HostCalls({ host, routes: instanceRoutes, cause: facts, ledger: request.server.memory });
  const context = new OperatorContext(
    { operator, readiness, directory, metrics },
    { request: facts, caller, body, calls },
  );
  const { socket } = request.raw;
  if (route.isSlow === true) socket.setTimeout(0);
  try {
    sendAnswer(request, reply, await route.handle(context));
  } finally {
    if (route.isSlow === true) socket.setTimeout(httpLimits.stalledMs);
  }
}

function factsOf(request: FastifyRequest, reply: FastifyReply): OperatorRequest {
  const { raw } = request;
  return {
    id: request.id,
    method: request.method,
    url: raw.url ?? '',
    origin: `${request.protocol}://${request.host}`,
    headers: request.headers,
    // In Fastify all path parameters are strings.
    params: request.params as Readonly<Record<string, string>>,
    query: queryOf(request),
    peer: peerAddress(raw.socket),
    isGone: () => raw.socket.destroyed,
    goneSignal: () => goneSignalOf(reply),
    receiveBody: (path, bytesMax) => receiveBody(raw, { path, bytesMax }),
  };
}

/** The signal of a request itself is aborted when all of it was read. */
function goneSignalOf({ raw }: FastifyReply): AbortSignal {
  const abort = new AbortController();
  raw.once('close', () => abort.abort());
  return abort.signal;
}

/**
 * Returns the methods of a path as they are shown to a client that has used another one; undefined where the path is unknown, as those of the
 * operator are below `/i/…` and without keys.
 */
export async function shownMethods(
  request: FastifyRequest,
  operator: OperatorControl | undefined,
  methods: readonly string[] | undefined,
): Promise<readonly string[] | undefined> {
  if (methods === undefined || !(request.raw.url ?? '').startsWith(`${operatorPrefix}/`)) return methods;
  if (operator === undefined || hasInstancePrefix(request.raw)) return undefined;
  return (await hasOperatorKey(operator)) ? methods : undefined;
}
