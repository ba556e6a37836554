import type { CollectionFinder } from '../collections/collection-store.ts';
import { fillPath } from './path-patterns.ts';

/** The part of a route that names it in rate limits. */
export interface LabelledRoute {
  /** All of its paths, with `:name` for parameters. */
  readonly paths: readonly string[];
  /** Names by which rate limits call it, whatever its path: `*:auth`. */
  readonly actions?: readonly string[];
}

export interface RoutedRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Returns the labels by which rate limit rules may name a request. They are made from the route, all of its paths and the collection's
 * own name, so that another spelling of the path, the collection's id or an alias does not evade a rule.
 */
export function rateLimitLabels(
  { paths, actions = [] }: LabelledRoute,
  { method, params }: RoutedRequest,
  collections: CollectionFinder,
): readonly string[] {
  const nameOrId = params['collection'] ?? '';
  const collection = collections.find(nameOrId)?.name ?? nameOrId;
  const named = paths.map((path) =>
    fillPath(path, (name) => (name === 'collection' ? collection : (params[name] ?? ''))),
  );
  return [
    ...actions.map((action) => `${collection}:${action}`),
    ...actions.map((action) => `*:${action}`),
    ...named.flatMap((path) => (alike[method] ?? [method]).map((name) => `${name} ${path}`)),
    ...named,
  ];
}

/** A HEAD costs as much as its GET, and a PUT in a batch may create a record as a POST does: rules for those apply too. */
const alike: Readonly<Record<string, readonly string[]>> = { HEAD: ['HEAD', 'GET'], PUT: ['PUT', 'POST'] };
