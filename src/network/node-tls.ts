/**
 * `node:tls` without an import statement, which would read every export: `rootCertificates` alone decodes a hundred and fifty
 * certificates, which takes 2 MB and 13 ms of a start.
 */
export const nodeTls = process.getBuiltinModule('node:tls');
