import assert from 'node:assert/strict';
import type { App } from '../../src/app.ts';

/** Returns every route of the API of a running server as `GET /api/collections/{collection}`, read from the router itself, without HEAD. */
export function routerTable(app: App): readonly string[] {
  const starts: string[] = [];
  const routes: string[] = [];
  for (const line of app.server.printRoutes({ commonPrefix: false }).trimEnd().split('\n')) {
    const [, indent, part = '', methods = ''] =
      /^((?:│ {3}| {4})*)[├└]── (\S*)(?: \((.+)\))?$/.exec(line) ?? [];
    assert.ok(indent !== undefined, `a line of the router's print: ${line}`);
    const depth = indent.length / 4;
    const path = (depth === 0 ? '' : (starts[depth - 1] ?? '')) + part;
    starts[depth] = path;
    for (const method of methods === '' ? [] : methods.split(', '))
      if (method !== 'HEAD' && !isOutsideApi(path))
        routes.push(`${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
  }
  return routes.toSorted();
}

/**
 * True for paths of the dashboard, and for `/`, which leads browsers there: files, which are no part of the API, as is `/llms.txt`. What
 * `/api/mcp` does is done by routes of the API (test/api/mcp.test.ts).
 */
function isOutsideApi(path: string): boolean {
  return path === '/' || path.startsWith('/_') || path === '/llms.txt' || path === '/api/mcp';
}
