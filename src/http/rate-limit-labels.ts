import type { FastifyRequest } from 'fastify';
import type { CollectionFinder } from '../collections/collection-store.ts';

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
