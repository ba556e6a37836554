/**
 * `node:tls` without an import statement: that would read every export of it, and `rootCertificates` decodes a hundred and fifty
 * certificates: 2 MB, and 13 ms of a start.
 */
export const nodeTls = process.getBuiltinModule('node:tls');
