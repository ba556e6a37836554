/** The part of a route that says which requests come to it. */
interface RoutedPaths {
  readonly method: string;
  /** With `:name` for parameters. */
  readonly paths: readonly string[];
}

/** Returns the path with values in place of its parameters. */
export function fillPath(path: string, valueOf: (name: string) => string): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => valueOf(name));
}

/** Returns what tells the methods of a path, or undefined for one that no route has: that is a 404, a known path a 405. */
export function methodFinder(
  routes: readonly RoutedPaths[],
): (path: string) => readonly string[] | undefined {
  const patterns = routes.flatMap(({ method, paths }) =>
    // Our paths have no other patterns than parameters.
    paths.map((path) => ({
      pattern: new RegExp(`^${fillPath(path.replaceAll('.', '\\.'), () => '[^/]+')}$`),
      methods: method === 'GET' ? [method, 'HEAD'] : [method],
    })),
  );
  return (path) => {
    const matches = patterns.filter(({ pattern }) => pattern.test(path));
    if (matches.length === 0) return undefined;
    return [...new Set(['OPTIONS', ...matches.flatMap(({ methods }) => methods)])].toSorted();
  };
}
