import { isProduct, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/**
 * Modules of Node that the product loads by `process.getBuiltinModule`, each in one file. An import statement reads every export:
 * `WebSocket` of node:http loads the client behind `fetch` (15 MB), and `rootCertificates` of node:tls decodes a hundred and fifty
 * certificates. node:https and node:http2 load both.
 */
const homes: Readonly<Record<string, string>> = {
  'node:http': 'src/http/connections.ts',
  'node:http2': 'src/http/connections.ts',
  'node:https': 'src/http/connections.ts',
  'node:tls': 'src/network/open-socket.ts',
};

/** Refuses costly imports. `import type` costs nothing, but for any other import statement Node loads the module. */
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
