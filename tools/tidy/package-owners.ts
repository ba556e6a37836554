import { isBuiltin } from 'node:module';

import { isProduct, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

const network = ['src/http/', 'src/network/', 'src/sending/'];

/**
 * The paths of src/ that may import each package. A name that ends in `/` stands for a whole scope; an empty list means
 * never in the product. A package that is not listed is refused; a module of Node that is not listed is free for all.
 */
const owners: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['src/storage/'],
  pg: ['src/storage/'],
  'node:crypto': ['src/secrets/', 'src/sending/signature.ts', 'src/base/ids.ts'],
  bcryptjs: ['src/secrets/'],
  croner: ['src/base/cron.ts'],
  nodemailer: ['src/mail/'],
  htmlparser2: ['src/base/html-text.ts', 'src/files/xml-elements.ts'],
  re2js: ['src/fields/'],
  'file-type': ['src/files/'],
  sharp: ['src/files/'],
  aws4fetch: ['src/files/'],
  undici: ['src/network/', 'src/sending/'],
  oauth4webapi: ['src/providers/'],
  fastify: ['src/http/'],
  '@fastify/': ['src/http/'],
  typebox: ['src/http/'],
  'prom-client': ['src/logs/'],
  pino: ['src/base/create-logger.ts'],
  '@modelcontextprotocol/': ['src/mcp/'],
  commander: ['src/cli/'],
  'csv-parse': ['src/cli/'],
  yauzl: ['src/transfer/archive/'],
  yazl: ['src/transfer/archive/'],
  '@clack/prompts': ['src/cli/'],
  picocolors: ['src/cli/'],
  'smol-toml': ['src/config/read-config-file.ts'],
  'node:worker_threads': [
    'src/jobs/',
    'src/base/thread.ts',
    'src/hosts/',
    'src/sending/',
    'src/secrets/',
    'src/storage/sqlite/',
  ],
  esbuild: [],
  'node:http': network,
  'node:http2': network,
  'node:https': network,
  'node:net': [...network, 'src/base/ip-address.ts'],
  'node:tls': network,
  'node:dns': ['src/network/'],
  'node:process': [],
  '@seriousme/': [],
  ajv: [],
  standardwebhooks: [],
  pocketbase: [],
  'oidc-provider': [],
  'fast-check': [],
  autocannon: [],
};

export function checkPackageOwners(files: readonly SourceFile[]): readonly Violation[] {
  return files.filter((file) => isProduct(file.path)).flatMap(checkFile);
}

function checkFile(file: SourceFile): readonly Violation[] {
  return file.imports.flatMap(({ line, specifier }) => {
    const message =
      specifier === undefined || specifier.startsWith('.') ? undefined : refusal(file.path, specifier);
    return message === undefined ? [] : [{ path: file.path, line, rule: 'package-owner', message }];
  });
}

function refusal(path: string, specifier: string): string | undefined {
  const name = packageName(specifier);
  const allowed = owners[name] ?? owners[name.replace(/\/.*/, '/')];
  if (allowed === undefined) {
    return isBuiltin(name) ? undefined : `${name} has no owner: give it one in tools/tidy/package-owners.ts`;
  }
  if (allowed.some((start) => path.startsWith(start))) return undefined;
  return allowed.length === 0
    ? `${name} is never part of the product`
    : `${name} belongs to ${allowed.join(', ')}`;
}

/** Returns the package of a specifier: `node:dns` for `node:dns/promises` and `dns/promises`, `typebox` for `typebox/value`. */
function packageName(specifier: string): string {
  const bare = specifier.replace(/^node:/, '').split('/');
  const name = bare.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  return isBuiltin(`node:${name}`) ? `node:${name}` : name;
}
