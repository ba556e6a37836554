import type { FastifyInstance } from 'fastify';

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
