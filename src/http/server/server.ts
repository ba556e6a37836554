import type { IncomingMessage } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import {
  fastify,
  type FastifyHttpsOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { AssertionFailed } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { AppError, notFound } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import { Ledger } from '../../base/ledger.ts';
import type { Logger } from '../../base/logger.ts';
import { openFilesMax } from '../../base/process.ts';
import {
  answerClientError,
  answerExpectation,
  findAbsentFeature,
  refuseTunnel,
  toErrorAnswer,
} from '../error-response.ts';
import type { AccessLog } from './access-log.ts';
import {
  closeGently,
  connectionsMax,
  continueWhenRead,
  httpLimits,
  linger,
  nodeHttp,
  noteLatestAnswers,
  onePipelinedRequestAtATime,
} from '../connections.ts';
import { type AllowedOrigins, corsHeaders, preflightHeaders } from './cors.ts';
import { serveDashboard } from './dashboard.ts';
import { decorateServer } from './decorate-server.ts';
import { ErrorLog } from './error-log.ts';
import { acceptBodies } from './accept-bodies.ts';
import { FrontRequest } from './front-request.ts';
import type { InstanceHost } from '../host/instance-host.ts';
import { serveLlmsText } from './serve-llms-text.ts';
import { serveMcp } from './serve-mcp.ts';
import { methodFinder } from '../path-patterns.ts';
import { notePeers } from '../client-address.ts';
import {
  type AddressOptions,
  checkRequest,
  findAddressed,
  parseQueryString,
  withoutInstancePrefix,
} from '../request.ts';
import type { OperatorControl } from '../../operator/operator-control.ts';
import type { OperatorKey } from '../../operator/operator-keys.ts';
import type { Services } from '../request-context.ts';
import type { ServiceMetrics } from '../service-metrics.ts';
import { routes } from './routes.ts';
import { shownMethods } from './serve-operator.ts';
import { serveRoute } from './serve-route.ts';
import { commonHeaders } from './send-answer.ts';
import { openTls, type TlsFiles } from './tls.ts';
import { UnfinishedBodies } from '../unfinished-bodies.ts';

/** The server as app.ts holds it. Only http/ knows that it is a Fastify instance. */
export type HttpServer = FastifyInstance;

export interface ServerOptions extends AddressOptions {
  readonly host: InstanceHost;
  /** Undefined where the routes of the operator are not served. */
  readonly operator?: OperatorControl | undefined;
  /** In place of operator keys, whom every request to those routes is from: of a server that its own process alone can reach. */
  readonly operatorCaller?: OperatorKey | undefined;
  readonly readiness: Services['readiness'];
  readonly metrics: ServiceMetrics;
  readonly origins: AllowedOrigins;
  /** Undefined where none is wanted. */
  readonly accessLog?: AccessLog | undefined;
  readonly logger: Logger;
  readonly tls: TlsFiles | undefined;
  /** Of bodies and answers in memory, of all clients together; undefined for the default. */
  readonly answerMemoryBytes?: number | undefined;
}

/**
 * Creates the HTTP side of the service, which turns bytes into one call of an operation, and its result or error into an answer.
 * Order for every request: its turn, CORS headers, checks, instance, body, caller, rate limits and scopes, operation.
 *
 * The steps before a route are here and in cors.ts, and in http/connections.ts, request.ts and body.ts. A route is one value
 * (route.ts); routes/ has one file per subject with its schemas, and routes.ts lists them all. serve-route.ts passes a request to the host of its instance and sends the answer (send-answer.ts);
 * host/local-host.ts opens the instance, finds the caller, holds limits and scopes, and calls the route with a request-context.ts.
 * decorate-server.ts lists what we add to Fastify's server and requests. error-response.ts turns errors into answers. openapi/ describes
 * every route to clients, in the forms of schemas/. dashboard.ts serves the files of the dashboard.
 */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const errors = new ErrorLog(options.logger);
  const app = createApp(options, errors);
  app.addHook('onClose', async () => errors.flush());
  acceptBodies(app);
  const memory = new Ledger({ max: options.answerMemoryBytes ?? httpLimits.memoryBytesMax });
  const { host } = options;
  decorateServer(app, {
    host,
    requestCounts: options.metrics.requests,
    memory,
    bodies: new UnfinishedBodies(memory),
  });
  options.metrics.watch(app.server);
  const methodsOf = methodFinder(routes);
  app.addHook('onRequest', (request, reply, done) =>
    onePipelinedRequestAtATime(request.raw, () => begin({ request, reply, done }, options)),
  );
  app.setErrorHandler((error, request, reply) => {
    logRefusal(host, request, { reply, error });
    return answerError(error, request, { reply, errors });
  });
  app.setNotFoundHandler(async (request, reply) => {
    const refused = await refusalOfUnknown(request, methodsOf, options.operator);
    logRefusal(host, request, { reply, error: refused.error });
    return answerUnknown(request, reply, refused);
  });
  for (const route of routes) serveRoute(app, options, route);
  serveDashboard(app, host);
  serveMcp(app, host);
  serveLlmsText(app);
  await app.ready();
  return app;
}

function createApp(options: ServerOptions, errors: ErrorLog): FastifyInstance {
  const settings = {
    requestTimeout: httpLimits.requestTimeoutMs,
    keepAliveTimeout: httpLimits.keepAliveTimeoutMs,
    maxRequestsPerSocket: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: httpLimits.paramLengthMax, querystringParser: parseQueryString },
    rewriteUrl: (request: IncomingMessage) => withoutInstancePrefix(request, options),
    // Not a counter, which would show clients of one instance how many requests all others get.
    genReqId: newId,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      // Fastify reports these errors before any hook has run.
      request.corsHeaders = corsHeaders(request.raw, options.origins) ?? null;
      request.startedMs = systemClock.monotonic();
      Object.assign(request, {
        instanceEntry: null,
        report: null,
        routeCounts: null,
      });
      options.accessLog?.follow(request, reply);
      onePipelinedRequestAtATime(request.raw, () => void answerError(error, request, { reply, errors }));
    },
    // No route has a schema, and loading the schema compilers would be a tenth of a start.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    logger: false,
  } as const;
  const server = {
    maxHeaderSize: Math.min(nodeHttp.maxHeaderSize, httpLimits.headerBytesMax),
    headersTimeout: httpLimits.headersTimeoutMs,
    // Ends a request that announces no body with its headers: an empty body stream is a tenth of Node's work for a view.
    optimizeEmptyRequests: true,
    connectionsCheckingInterval: httpLimits.checkIntervalMs,
    // checkRequest requires it, and its answer says so.
    requireHostHeader: false,
  };
  const app =
    options.tls === undefined
      ? fastify({ ...settings, http: server })
      : fastifyWithTls({ ...settings, https: { ...server, ...openTls(options.tls) } });
  limitConnections(app, options.logger);
  app.server.maxHeadersCount = 0;
  // Node has no such time-out by default: a client could make the server keep an unread answer for as long as it likes.
  app.server.setTimeout(httpLimits.stalledMs);
  notePeers(app.server);
  closeGently(app.server);
  noteLatestAnswers(app.server);
  continueWhenRead(app.server);
  app.server.on('checkExpectation', answerExpectation);
  app.server.on('connect', refuseTunnel);
  return app;
}

function limitConnections({ server }: FastifyInstance, logger: Logger): void {
  const filesMax = openFilesMax();
  server.maxConnections = connectionsMax(filesMax);
  if (server.maxConnections === httpLimits.connectionsMax) return;
  const members = { openFilesMax: filesMax, connectionsMax: server.maxConnections };
  logger.warn('The limit of open files allows fewer connections than usual.', members);
}

function noSchemas(): never {
  throw new AssertionFailed('no route has a schema');
}

/** Creates a TLS server. Its type differs only in the raw request, and nothing here uses more of that than both types have. */
function fastifyWithTls(settings: FastifyHttpsOptions<TlsServer>): FastifyInstance {
  return fastify(settings);
}

interface Beginning {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly done: (error?: Error) => void;
}

function begin({ request, reply, done }: Beginning, options: ServerOptions): void {
  const { raw } = request;
  request.startedMs = systemClock.monotonic();
  options.accessLog?.follow(request, reply);
  request.corsHeaders = corsHeaders(raw, options.origins) ?? null;
  try {
    checkRequest(raw);
    forgetTypeOfNothing(raw);
    if (raw.method === 'OPTIONS') {
      const headers = { ...commonHeaders(request), ...preflightHeaders(raw, options.origins) };
      void reply.code(204).headers(headers).send();
      request.server.requestCounts.note(request, 204, 0);
      return;
    }
    request.instanceEntry = findAddressed(raw, options) ?? null;
    done();
  } catch (error) {
    // A request that is refused here does not reliably say where the next one on its connection begins.
    reply.header('connection', 'close');
    done(toError(error));
  }
}

/**
 * Removes the Content-Type of a request without a body, which some clients send. Fastify would wait for the end of that body, but
 * Node has ended the request with its headers (`optimizeEmptyRequests`).
 */
function forgetTypeOfNothing({ method, headers }: IncomingMessage): void {
  // Fastify never reads a body of these.
  if (method === 'GET' || method === 'HEAD' || headers['content-type'] === undefined) return;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    delete headers['content-type'];
}

/** Puts a request that was refused before it came to its instance into the log of that. */
function logRefusal(
  host: InstanceHost,
  request: FastifyRequest,
  { reply, error }: { readonly reply: FastifyReply; readonly error: unknown },
): void {
  const entry = request.instanceEntry;
  if (entry !== null) host.logRefusal(entry, new FrontRequest(request, reply, entry), error);
}

function answerError(
  error: unknown,
  request: FastifyRequest,
  { reply, errors }: { readonly reply: FastifyReply; readonly errors: ErrorLog },
): FastifyReply {
  const answer = toErrorAnswer(error);
  errors.note(error, request, answer);
  const { status, body, retryAfter } = answer;
  request.releaseBody?.();
  reply.headers(commonHeaders(request));
  // Whoever sends too slowly is not waited for.
  if (status === 408) reply.header('connection', 'close');
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  // Closed at once, the connection of a client that is still sending would lose this answer. The rest of the body is discarded.
  if (isUnread(request, status)) reply.removeHeader('connection');
  else if (reply.getHeader('connection') === 'close') linger(request.raw);
  request.server.requestCounts.note(request, status, Buffer.byteLength(body));
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(body);
}

/**
 * True for a body refused for its type, or because it grew too large. One whose announced length is too large is not waited for, nor is
 * one that its client may not send at all since it was to be asked for.
 */
function isUnread({ headers }: FastifyRequest, status: number): boolean {
  if ((status !== 413 && status !== 415) || headers.expect !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= httpLimits.bodyBytesMax;
}

interface UnknownRefusal {
  readonly error: AppError;
  /** The methods of the path when it is known but not with this method; undefined when it is unknown. */
  readonly methods: readonly string[] | undefined;
}

async function refusalOfUnknown(
  request: FastifyRequest,
  methodsOf: ReturnType<typeof methodFinder>,
  operator: OperatorControl | undefined,
): Promise<UnknownRefusal> {
  const path = (request.raw.url ?? '').split('?', 1)[0] ?? '';
  if (request.instanceEntry === null) return { error: notFound(), methods: undefined };
  const methods = await shownMethods(request, operator, methodsOf(path));
  if (methods !== undefined)
    return { error: new AppError('method_not_allowed', 'Method not allowed.'), methods };
  const absent = findAbsentFeature(path);
  return { error: absent === undefined ? notFound() : new AppError('not_found', absent), methods };
}

function answerUnknown(
  request: FastifyRequest,
  reply: FastifyReply,
  { error, methods }: UnknownRefusal,
): FastifyReply {
  const { status, body } = toErrorAnswer(error);
  reply.headers(commonHeaders(request));
  if (methods !== undefined) reply.header('allow', methods.join(', '));
  request.server.requestCounts.note(request, status, Buffer.byteLength(body));
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(body);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new AppError('bad_request', String(error));
}
