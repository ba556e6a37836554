/**
 * `node:http` without an import statement, which would read every export. One of them, `WebSocket`, loads the whole client behind
 * `fetch`: 15 MB of memory and a tenth of the start, for something that nothing here uses.
 */
export const nodeHttp = process.getBuiltinModule('node:http');
