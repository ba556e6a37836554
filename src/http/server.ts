import type { IncomingMessage } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import {
  fastify,
  type FastifyHttpsOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { assert, AssertionFailed } from '../base/assert.ts';
import { systemClock } from '../base/clock.ts';
import { AppError, notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { openFilesMax } from '../base/process.ts';
import type { InstanceDirectory } from '../instances/instance-directory.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { NetworkPolicy } from '../network/address-guard.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';
import {
  answerClientError,
  answerExpectation,
  findAbsentFeature,
  refuseTunnel,
  toErrorAnswer,
} from './error-response.ts';
import { Admission, type AdmissionOptions } from './admission.ts';
import {
  closeGently,
  connectionsMax,
  continueWhenRead,
  httpLimits,
  linger,
  nodeHttp,
  noteLatestAnswers,
  onePipelinedRequestAtATime,
} from './connections.ts';
import { type AllowedOrigins, corsHeaders, preflightHeaders } from './cors.ts';
import { ErrorLog } from './error-log.ts';
import { acceptBodies } from './body.ts';
import { knownPaths, type KnownPaths } from './route.ts';
import { logRefusal } from './log-request.ts';
import { notePeers } from './client-address.ts';
import {
  type AddressOptions,
  checkRequest,
  findAddressed,
  parseQueryString,
  withoutInstancePrefix,
} from './request.ts';
import { auditRoutes } from './routes/audit.ts';
import { accountRoutes } from './routes/accounts.ts';
import { authRoutes } from './routes/auth.ts';
import { batchRoutes } from './routes/batch.ts';
import { collectionRoutes } from './routes/collections.ts';
import { deliveryRoutes } from './routes/deliveries.ts';
import { descriptionRoutes } from './routes/descriptions.ts';
import { endpointRoutes } from './routes/endpoints.ts';
import { keyRoutes } from './routes/keys.ts';
import { healthRoutes, type Readiness } from './routes/health.ts';
import { logRoutes } from './routes/logs.ts';
import { mailRoutes } from './routes/mail.ts';
import { recordRoutes } from './routes/records.ts';
import { setupRoutes } from './routes/setup.ts';
import { ruleRoutes } from './routes/rules.ts';
import { settingsRoutes } from './routes/settings.ts';
import { commonHeaders } from './answer.ts';
import { openTls, type TlsFiles } from './tls.ts';

/** The server as app.ts holds it. Only http/ knows that it is a Fastify instance. */
export type HttpServer = FastifyInstance;

export interface ServerOptions extends AddressOptions, AdmissionOptions {
  readonly directory: InstanceDirectory;
  readonly instances: OpenInstances;
  readonly dispatcher: Dispatcher;
  readonly mailer: Mailer;
  readonly policy: NetworkPolicy;
  readonly origins: AllowedOrigins;
  readonly logger: Logger;
  readonly version: string;
  readonly tls: TlsFiles | undefined;
  readonly readiness: () => Readiness;
}

/**
 * Creates the HTTP side of the service, which turns bytes into one call of an operation, and its result or error into an answer.
 * Order for every request: its turn, CORS headers, checks, instance, body, caller, rate limits and scopes, operation.
 *
 * The steps before a route are here and in connections.ts, request.ts, cors.ts and body.ts. routes/ has
 * one file per resource. Its routes call their operation through `onInstance`, which opens the instance, finds the caller, holds
 * rate limits and the scopes of API keys, and logs the request. Answers go out through answer.ts, those of writes through
 * answer-write.ts (once per Idempotency-Key), and all of these through `sendAnswer`. error-response.ts turns errors into answers.
 * openapi/ describes every route to clients.
 */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const errors = new ErrorLog(options.logger);
  const app = createApp(options, errors);
  app.addHook('onClose', async () => errors.flush());
  acceptBodies(app);
  app.decorate('admission', new Admission(options));
  app.decorateRequest('instanceEntry', null);
  app.decorateRequest('instance', null);
  app.decorateRequest('corsHeaders', null);
  app.decorateRequest('rateLimitHeaders', null);
  app.decorateRequest('startedMs', 0);
  app.decorateRequest('asOfMs', Number.POSITIVE_INFINITY);
  app.decorateRequest('isNoted', false);
  const paths = knownPaths(app);
  app.addHook('onRequest', (request, reply, done) =>
    onePipelinedRequestAtATime(request.raw, () => begin({ request, reply, done }, options)),
  );
  app.setErrorHandler((error, request, reply) => {
    logRefusal(request, options.instances, error);
    return answerError(error, request, { reply, errors });
  });
  app.setNotFoundHandler((request, reply) => {
    const refused = refusalOfUnknown(request, paths);
    logRefusal(request, options.instances, refused.error);
    return answerUnknown(request, reply, refused);
  });
  await app.register(routes(options));
  await app.ready();
  return app;
}

function routes(options: ServerOptions): (app: FastifyInstance, _: unknown, done: () => void) => void {
  return (app, _, done) => {
    recordRoutes(app, options.instances);
    collectionRoutes(app, options.instances);
    settingsRoutes(app, options.instances);
    logRoutes(app, options.instances);
    ruleRoutes(app, options.instances);
    authRoutes(app, options);
    accountRoutes(app, options);
    healthRoutes(app, options);
    descriptionRoutes(app, options);
    endpointRoutes(app, {
      ...options,
      borrow: (instanceId) => {
        const entry = options.directory.find(instanceId);
        assert(entry, 'an open instance is in the directory');
        return options.instances.borrow(entry);
      },
    });
    deliveryRoutes(app, options);
    keyRoutes(app, options.instances);
    auditRoutes(app, options.instances);
    setupRoutes(app, options.instances);
    mailRoutes(app, options);
    batchRoutes(app, options.instances);
    done();
  };
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
  request.corsHeaders = corsHeaders(raw, options.origins) ?? null;
  try {
    checkRequest(raw);
    forgetTypeOfNothing(raw);
    if (raw.method === 'OPTIONS') {
      const headers = { ...commonHeaders(request), ...preflightHeaders(raw, options.origins) };
      void reply.code(204).headers(headers).send();
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

function answerError(
  error: unknown,
  request: FastifyRequest,
  { reply, errors }: { readonly reply: FastifyReply; readonly errors: ErrorLog },
): FastifyReply {
  const told = toErrorAnswer(error);
  errors.note(error, request, told);
  const { status, body, retryAfter } = told;
  reply.headers(commonHeaders(request));
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  // Closed at once, the connection of a client that is still sending would lose this answer. The rest of the body is discarded.
  if (isUnread(request, status)) reply.removeHeader('connection');
  else if (reply.getHeader('connection') === 'close') linger(request.raw);
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

function refusalOfUnknown(request: FastifyRequest, paths: KnownPaths): UnknownRefusal {
  const path = (request.raw.url ?? '').split('?', 1)[0] ?? '';
  if (request.instanceEntry === null) return { error: notFound(), methods: undefined };
  const methods = paths.methodsOf(path);
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
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(body);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new AppError('bad_request', String(error));
}
