/**
 * `node:http` without an import statement: that would read every export of it, and behind one of them, `WebSocket`, stands the
 * whole client that `fetch` is made of: 15 MB of memory and a tenth of the start, for what nothing here uses.
 */
export const nodeHttp = process.getBuiltinModule('node:http');
