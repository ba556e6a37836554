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
import type { InstanceDirectory } from '../instances/instance-directory.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { NetworkPolicy } from '../network/address-guard.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';
import { Admission, type AdmissionOptions } from './admission.ts';
import { answerClientError } from './answer-client-error.ts';
import { answerExpectation } from './answer-expectation.ts';
import { closeGently } from './close-gently.ts';
import { corsHeaders, preflightHeaders, type AllowedOrigins } from './cors.ts';
import { toErrorAnswer } from './error-response.ts';
import { acceptJsonBodies } from './json-body.ts';
import { knownPaths, type KnownPaths } from './known-paths.ts';
import { noteLatestAnswers } from './latest-answer.ts';
import { nodeHttp } from './node-http.ts';
import { noteRefusal } from './note-request.ts';
import { parseQueryString } from './query-string.ts';
import { refuseTunnel } from './refuse-tunnel.ts';
import { checkRequest } from './check-request.ts';
import { findAddressed, withoutInstancePrefix, type AddressOptions } from './find-addressed.ts';
import { auditRoutes } from './routes/audit-routes.ts';
import { accountRoutes } from './routes/account-routes.ts';
import { authRoutes } from './routes/auth-routes.ts';
import { batchRoutes } from './routes/batch-routes.ts';
import { collectionRoutes } from './routes/collection-routes.ts';
import { deliveryRoutes } from './routes/delivery-routes.ts';
import { descriptionRoutes } from './routes/description-routes.ts';
import { endpointRoutes } from './routes/endpoint-routes.ts';
import { keyRoutes } from './routes/key-routes.ts';
import { healthRoutes, type Readiness } from './routes/health-routes.ts';
import { logRoutes } from './routes/log-routes.ts';
import { mailRoutes } from './routes/mail-routes.ts';
import { recordRoutes } from './routes/record-routes.ts';
import { setupRoutes } from './routes/setup-routes.ts';
import { ruleRoutes } from './routes/rule-routes.ts';
import { settingsRoutes } from './routes/settings-routes.ts';
import { httpLimits } from './http-limits.ts';
import { commonHeaders } from './send-answer.ts';
import { takeTurns } from './take-turns.ts';
import { openTls, type TlsFiles } from './tls.ts';

/** What app.ts holds of it: a Fastify instance, known as such only in here. */
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
 * The HTTP side of the service: from bytes to one call of an operation, and from what it gives or throws to an answer.
 * Order for every request: its turn, checks, CORS, instance, body, caller, route.
 *
 * What comes before a route is here, in check-request.ts, cors.ts, find-addressed.ts and json-body.ts. Routes stand in routes/, a
 * file for each resource. Each serves its operation by `onInstance`: the instance is open, the caller known and within the rate
 * limits and the scopes of a key, and the request is logged. Records are answered by answer.ts, writes by answer-write.ts (run
 * once under an Idempotency-Key), all of them in the end by `sendAnswer`; what is thrown, by error-response.ts. openapi/ tells
 * clients of every route.
 */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const app = createApp(options);
  acceptJsonBodies(app);
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
    takeTurns(request.raw, () => begin({ request, reply, done }, options)),
  );
  app.setErrorHandler((error, request, reply) => {
    noteRefusal(request, options.instances, error);
    return answerError(error, request, { reply, logger: options.logger });
  });
  app.setNotFoundHandler((request, reply) => {
    const refused = refusalOfUnknown(request, paths);
    noteRefusal(request, options.instances, refused.error);
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
      borrow: (instance) => {
        const entry = options.directory.findBySlug(instance.slug);
        assert(entry, 'an open instance is in the directory');
        return options.instances.borrow(entry);
      },
    });
    deliveryRoutes(app, options);
    keyRoutes(app, options.instances);
    auditRoutes(app, options.instances);
    setupRoutes(app, options.instances);
    mailRoutes(app, options);
    void app.register((batch, _, done) => {
      batchRoutes(batch, options.instances);
      done();
    });
    done();
  };
}

function createApp(options: ServerOptions): FastifyInstance {
  const settings = {
    requestTimeout: httpLimits.requestTimeoutMs,
    keepAliveTimeout: httpLimits.keepAliveTimeoutMs,
    maxRequestsPerSocket: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: httpLimits.paramLengthMax, querystringParser: parseQueryString },
    rewriteUrl: (request: IncomingMessage) => withoutInstancePrefix(request, options),
    // Not counted: whoever is served by this process could tell how much all others ask.
    genReqId: newId,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      // No hook runs before these.
      request.corsHeaders = corsHeaders(request.raw, options.origins) ?? null;
      takeTurns(request.raw, () => void answerError(error, request, { reply, logger: options.logger }));
    },
    // No route has a schema: to load what compiles them would be a tenth of a start.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    logger: false,
  } as const;
  const server = {
    maxHeaderSize: Math.min(nodeHttp.maxHeaderSize, httpLimits.headerBytesMax),
    headersTimeout: httpLimits.headersTimeoutMs,
    // A request that announces no body is over with its headers: a stream of nothing is a tenth of what Node does for a view.
    optimizeEmptyRequests: true,
    connectionsCheckingInterval: httpLimits.checkIntervalMs,
    // checkRequest does, with an answer that says so.
    requireHostHeader: false,
  };
  const app =
    options.tls === undefined
      ? fastify({ ...settings, http: server })
      : fastifyWithTls({ ...settings, https: { ...server, ...openTls(options.tls) } });
  app.server.maxConnections = httpLimits.connectionsMax;
  app.server.maxHeadersCount = 0;
  // Node has no such time by default: answers that nobody reads would be kept for as long as their clients like.
  app.server.setTimeout(httpLimits.stalledMs);
  closeGently(app.server);
  noteLatestAnswers(app.server);
  app.server.on('checkExpectation', answerExpectation);
  app.server.on('connect', refuseTunnel);
  return app;
}

function noSchemas(): never {
  throw new AssertionFailed('no route has a schema');
}

/** The type of a TLS server differs only in the raw request, of which nothing here uses more than both have. */
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
    // Where the next request begins is not to be believed of one who was refused here.
    reply.header('connection', 'close');
    done(toError(error));
  }
}

/**
 * Clients name a type where they send no body. Fastify would wait for the end of a body of this type, which Node has ended with the
 * headers (`optimizeEmptyRequests`).
 */
function forgetTypeOfNothing({ method, headers }: IncomingMessage): void {
  // Of these nobody reads a body.
  if (method === 'GET' || method === 'HEAD' || headers['content-type'] === undefined) return;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    delete headers['content-type'];
}

function answerError(
  error: unknown,
  request: FastifyRequest,
  { reply, logger }: { readonly reply: FastifyReply; readonly logger: Logger },
): FastifyReply {
  const { status, body, retryAfter, isOurs } = toErrorAnswer(error);
  if (isOurs)
    logger.error('A request failed.', { requestId: request.id, method: request.method, status, error });
  else if (error instanceof AppError && error.code === 'broken_rule')
    logger.warn('A rule no longer compiles.', { requestId: request.id, method: request.method, error });
  reply.headers(commonHeaders(request));
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  // Closed at once, the connection of a client that is still sending would lose this answer. What it sends goes nowhere.
  if (isUnread(request, status)) reply.removeHeader('connection');
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(body);
}

/** Whether the body was refused for what it is or has become; one that is announced too large is not waited for. */
function isUnread({ headers }: FastifyRequest, status: number): boolean {
  if (status !== 413 && status !== 415) return false;
  return Number(headers['content-length'] ?? 0) <= httpLimits.bodyBytesMax;
}

interface UnknownRefusal {
  readonly error: AppError;
  /** Those of a path that is known, with another method. */
  readonly methods: readonly string[] | undefined;
}

function refusalOfUnknown(request: FastifyRequest, paths: KnownPaths): UnknownRefusal {
  const path = (request.raw.url ?? '').split('?', 1)[0] ?? '';
  const methods = request.instanceEntry === null ? undefined : paths.methodsOf(path);
  const error =
    methods === undefined ? notFound() : new AppError('method_not_allowed', 'Method not allowed.');
  return { error, methods };
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
