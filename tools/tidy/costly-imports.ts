import { isProduct, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/**
 * Parts of Node that the product takes by `process.getBuiltinModule`, and in which file. An import statement reads every export:
 * behind `WebSocket` of node:http stands the client that fetch is made of (15 MB), and `rootCertificates` of node:tls decodes a
 * hundred and fifty certificates. node:https and node:http2 lead to both.
 */
const homes: Readonly<Record<string, string>> = {
  'node:http': 'src/http/node-http.ts',
  'node:http2': 'src/http/node-http.ts',
  'node:https': 'src/http/node-http.ts',
  'node:tls': 'src/network/node-tls.ts',
};

/** Types cost nothing, if the whole statement is one of types: of others Node loads the module. */
export function checkCostlyImports(files: readonly SourceFile[]): readonly Violation[] {
  return files.filter((file) => isProduct(file.path)).flatMap(checkFile);
}

function checkFile({ path, imports, tokens }: SourceFile): readonly Violation[] {
  return imports.flatMap(({ line, specifier }) => {
    const home = homes[specifier ?? ''];
    const isOfTypes = tokens.some(
      (token, at) => token.line === line && token.text === 'import' && tokens[at + 1]?.text === 'type',
    );
    if (home === undefined || isOfTypes) return [];
    return [{ path, line, rule: 'costly-import', message: `${specifier} is read whole: use ${home}` }];
  });
}
