import type { FastifyInstance, FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify';
import { type Caller, guest, hasScope, type KeyScope, keyScopes } from '../access/caller.ts';
import { authenticate, tokenRequired } from '../auth/authenticate.ts';
import { systemClock } from '../base/clock.ts';
import { AppError, notFound } from '../base/errors.ts';
import type { CollectionFinder } from '../collections/collection-store.ts';
import type { InstanceEntry } from '../instances/instance-directory.ts';
import type { Instance } from '../instances/instance.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import { auditLogOf } from '../logs/audit-log.ts';
import { checkFields, unreadAnswers } from './answer.ts';
import { logFailure, logRequest } from './log-request.ts';
import { queryOf } from './request.ts';
import { ruleInput } from './rule-input.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The instance that the host or the path addresses; null when they address none. */
    instanceEntry: InstanceEntry | null;
    /** The same instance once it is open; null before. */
    instance: Instance | null;
    /** When serving began, by `systemClock.monotonic`: the answer may show any state that the data have had since. */
    asOfMs: number;
  }
}

/** Where a request goes and who it comes from. */
export interface RequestContext {
  readonly instance: Instance;
  readonly caller: Caller;
}

/** Writes the answer. */
type Serve<Route extends RouteGenericInterface> = (
  context: RequestContext,
  request: FastifyRequest<Route>,
  reply: FastifyReply,
) => Promise<void>;

type Handler<Route extends RouteGenericInterface> = (
  request: FastifyRequest<Route>,
  reply: FastifyReply,
) => Promise<void>;

/** Makes a route's handler. It opens the request's instance, which stays open until the operation is over. */
export function onInstance<Route extends RouteGenericInterface>(
  instances: OpenInstances,
  serve: Serve<Route>,
): Handler<Route> {
  return async (request, reply) => {
    const entry = request.instanceEntry;
    if (entry === null) throw notFound();
    const loan = instances.borrowOpen(entry.id) ?? (await instances.borrow(entry));
    const { instance } = loan;
    let caller: Caller = guest;
    try {
      request.instance = instance;
      request.asOfMs = systemClock.monotonic();
      const { authorization } = request.headers;
      caller = authorization === undefined ? guest : await authenticated(instance, authorization, request);
      const admitted = request.server.admission.admit(instance, caller, request);
      if (admitted !== undefined) await admitted;
      requireScope(caller, request);
      if (request.bodyProblem !== null) refuseBody(instance, request, request.bodyProblem);
      checkFields(queryOf(request));
      const freed = unreadAnswers.untilFreed();
      if (freed !== undefined) await freed;
      await serve({ instance, caller }, request, reply);
      logRequest(request, { instance, caller, status: reply.raw.statusCode });
    } catch (error) {
      logFailure(request, { instance, caller }, error);
      throw error;
    } finally {
      loan.release();
    }
  };
}

/** Throws not_found when the collection does not exist, as that comes first; else the problem of the body. */
function refuseBody({ collections }: Instance, { params }: FastifyRequest<object>, problem: AppError): never {
  // Path parameters are always strings by name.
  const { collection } = params as Readonly<Record<string, string | undefined>>;
  if (collection !== undefined) collections.get(collection);
  throw problem;
}

/** Throws unauthorized for an invalid API key, and audits it: somebody is guessing keys, or has lost theirs. */
async function authenticated(
  instance: Instance,
  authorization: string,
  request: FastifyRequest<object>,
): Promise<Caller> {
  try {
    return await authenticate(instance, authorization);
  } catch (error) {
    if (error instanceof AppError && error.code === 'unauthorized')
      auditLogOf(instance).note(ruleInput(request, guest), { action: 'key.use', outcome: 'refused' });
    throw error;
  }
}

/** As {@link onInstance}, for routes that only superusers may use. */
export function onInstanceAsSuperuser<Route extends RouteGenericInterface>(
  instances: OpenInstances,
  serve: Serve<Route>,
): Handler<Route> {
  return onInstance<Route>(instances, (context, request, reply) => {
    if (context.caller.kind === 'superuser') return serve(context, request, reply);
    if (context.caller.kind === 'user')
      throw new AppError('forbidden', 'The authorized record is not allowed to perform this action.');
    throw tokenRequired();
  });
}

/**
 * The routes that an API key may use with each scope; a route that is not listed needs `admin`. Every key may use those under `any`,
 * which show it what a guest sees, and more if its scopes allow.
 */
const routes: Readonly<Partial<Record<KeyScope | 'any', readonly string[]>>> = {
  any: ['GET /api/health', 'GET /api/openapi.json', 'GET /api/collections/:collection/auth-methods'],
  'records:read': [
    'GET /api/collections/:collection/records',
    'GET /api/collections/:collection/records/:id',
    'GET /api/records/:collection',
    'GET /api/records/:collection/:id',
  ],
  'records:write': [
    'POST /api/collections/:collection/records',
    'PATCH /api/collections/:collection/records/:id',
    'DELETE /api/collections/:collection/records/:id',
    'POST /api/records/:collection',
    'PATCH /api/records/:collection/:id',
    'DELETE /api/records/:collection/:id',
    'POST /api/batch',
    'DELETE /api/collections/:collection/truncate',
  ],
  'collections:read': [
    'GET /api/collections',
    'GET /api/collections/:collection',
    'GET /api/collections/meta/scaffolds',
    'GET /api/collections/meta/oauth2-providers',
  ],
  'collections:write': [
    'POST /api/collections',
    'PATCH /api/collections/:collection',
    'DELETE /api/collections/:collection',
    'PUT /api/collections/import',
  ],
  'webhooks:read': [
    'GET /api/webhooks/endpoints',
    'GET /api/webhooks/endpoints/:id',
    'GET /api/webhooks/deliveries',
    'GET /api/webhooks/deliveries/:id',
  ],
  'webhooks:write': [
    'POST /api/webhooks/endpoints',
    'PATCH /api/webhooks/endpoints/:id',
    'DELETE /api/webhooks/endpoints/:id',
    // The secret signs webhooks: its holder can send some in the name of the service.
    'GET /api/webhooks/endpoints/:id/secret',
    'POST /api/webhooks/endpoints/:id/pause',
    'POST /api/webhooks/endpoints/:id/resume',
    'POST /api/webhooks/endpoints/:id/test',
    'POST /api/webhooks/deliveries/:id/retry',
    'POST /api/webhooks/deliveries/:id/cancel',
  ],
};

/** The scope of each route, by method and path. */
export const routeScopes: ReadonlyMap<string, KeyScope | 'any'> = new Map(
  (['any', ...keyScopes] as const).flatMap((scope) =>
    (routes[scope] ?? []).map((route) => [route, scope] as const),
  ),
);

/** Throws forbidden for an API key without the scope that this route needs. Other callers have no scopes. */
function requireScope(caller: Caller, request: FastifyRequest<object>): void {
  if (caller.kind !== 'superuser' || caller.key === undefined) return;
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const scope = routeScopes.get(`${method} ${request.routeOptions.url ?? ''}`) ?? 'admin';
  if (scope !== 'any' && !hasScope(caller, scope))
    throw new AppError('forbidden', `The API key needs the scope ${scope}.`);
}

/** The actions that rate limit rules may name, by the last segment of a collection's auth route. */
const authActions: Readonly<Record<string, readonly string[]>> = {
  'auth-methods': ['listAuthMethods'],
  'auth-refresh': ['authRefresh'],
  'auth-with-password': ['authWithPassword', 'auth'],
  'auth-with-oauth2': ['authWithOAuth2', 'auth'],
  'auth-with-otp': ['authWithOTP', 'auth'],
  'request-otp': ['requestOTP'],
  'request-password-reset': ['requestPasswordReset'],
  'confirm-password-reset': ['confirmPasswordReset'],
  'request-verification': ['requestVerification'],
  'confirm-verification': ['confirmVerification'],
  'request-email-change': ['requestEmailChange'],
  'confirm-email-change': ['confirmEmailChange'],
};

const RECORDS = /^\/api\/(?:collections\/:collection\/records|records\/:collection)(\/:id)?$/;
const OF_COLLECTION = /^\/api\/collections\/:collection\/([\w-]+)$/;
const FILES = /^\/api\/files\/:collection\//;

/**
 * Returns the labels by which rate limit rules may name this request. They are made from the route and the collection's own name,
 * so another spelling of the path, the collection's id or the alias path does not evade a rule.
 */
export function rateLimitLabels(
  request: FastifyRequest<object>,
  collections: CollectionFinder,
): readonly string[] {
  const { method } = request;
  const pattern = request.routeOptions.url ?? '';
  // In Fastify all path parameters are strings.
  const params = request.params as Readonly<Record<string, string>>;
  const name = params['collection'];
  const collection = name === undefined ? undefined : (collections.find(name)?.name ?? name);
  const record = RECORDS.exec(pattern);
  if (collection !== undefined && record !== null) {
    const id = record[1] === undefined ? undefined : params['id'];
    return recordLabels({ method, collection, id, actions: [recordAction(method, id)] });
  }
  const path = pattern.replaceAll(/:(\w+)/g, (_, param: string) =>
    param === 'collection' ? (collection ?? '') : (params[param] ?? ''),
  );
  const actions = FILES.test(pattern)
    ? ['file']
    : (authActions[OF_COLLECTION.exec(pattern)?.[1] ?? ''] ?? []);
  return [...actionLabels(collection ?? '', actions), ...pathLabels(method, path)];
}

export interface RecordRequest {
  readonly method: string;
  /** The collection's own name, not its id. */
  readonly collection: string;
  readonly id: string | undefined;
  readonly actions: readonly string[];
}

/** Returns the labels of a request for records, under both of its paths. */
export function recordLabels({ method, collection, id, actions }: RecordRequest): readonly string[] {
  const end = id === undefined ? '' : `/${id}`;
  const paths = [`/api/collections/${collection}/records${end}`, `/api/records/${collection}${end}`];
  return [
    ...actionLabels(collection, actions),
    ...paths.flatMap((path) => methodLabels(method, path)),
    ...paths,
  ];
}

function recordAction(method: string, id: string | undefined): string {
  if (method === 'POST') return 'create';
  if (method === 'PATCH') return 'update';
  if (method === 'DELETE') return 'delete';
  return id === undefined ? 'list' : 'view';
}

function actionLabels(collection: string, actions: readonly string[]): readonly string[] {
  return [...actions.map((action) => `${collection}:${action}`), ...actions.map((action) => `*:${action}`)];
}

function pathLabels(method: string, path: string): readonly string[] {
  return [...methodLabels(method, path), path];
}

/** A HEAD costs as much as its GET, and a PUT in a batch may create a record as a POST does: rules for those apply too. */
const alike: Readonly<Record<string, readonly string[]>> = { HEAD: ['HEAD', 'GET'], PUT: ['PUT', 'POST'] };

function methodLabels(method: string, path: string): readonly string[] {
  return (alike[method] ?? [method]).map((name) => `${name} ${path}`);
}

/** The paths that have routes, to tell an unknown path (404) from a known path without this method (405). */
export interface KnownPaths {
  /** Methods of the path, or undefined when there is no such path. */
  methodsOf(path: string): readonly string[] | undefined;
}

/** Collects the paths of all routes that are registered on `app` after this call. */
export function knownPaths(app: FastifyInstance): KnownPaths {
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', (route) => {
    const known = methods.get(route.url) ?? new Set(['OPTIONS']);
    for (const method of [route.method].flat()) known.add(method);
    methods.set(route.url, known);
  });
  let patterns: readonly { readonly pattern: RegExp; readonly methods: ReadonlySet<string> }[] | undefined;
  return {
    methodsOf: (path) => {
      // Our paths have no other patterns than parameters.
      patterns ??= [...methods].map(([url, known]) => ({
        pattern: new RegExp(`^${url.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`),
        methods: known,
      }));
      const found = patterns.filter(({ pattern }) => pattern.test(path));
      if (found.length === 0) return undefined;
      return [...new Set(found.flatMap((route) => [...route.methods]))].toSorted();
    },
  };
}
