import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../src/app.ts';
import { serviceDocument } from '../../src/http/openapi/service-document.ts';
import { routes } from '../../src/http/server/routes.ts';
import { type OpenapiDocument, postmanCollection } from '../postman/postman-collection.ts';
import { dashboardTypes } from './dashboard-types.ts';

/** Returns the text of every generated file that follows from the sources alone, by its path. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const openapi = toText(serviceDocument(version, routes));
  // As its readers get it: without the members that are undefined. Ours, so its form is certain.
  const document = JSON.parse(openapi) as OpenapiDocument;
  return new Map([
    ['spec/openapi.json', openapi],
    ['spec/postman.json', toText(postmanCollection(document))],
    ['dashboard/src/api/schema.ts', dashboardTypes(document)],
  ]);
}

/** The test that writes each of the other generated files, whose content only a running service shows. */
export const filesOfTests: ReadonlyMap<string, string> = new Map([
  ['spec/sql/sqlite.md', 'test/plans/plans.test.ts'],
  ['spec/sql/postgres.md', 'test/plans/plans.test.ts'],
  ['spec/filter-access.json', 'test/api/filter-access.test.ts'],
]);

/** Returns the paths of the files that are missing in a folder, or have another text there. */
export function staleFiles(folder: string, files: ReadonlyMap<string, string>): readonly string[] {
  const isFresh = (path: string, text: string): boolean =>
    existsSync(path) && readFileSync(path, 'utf8') === text;
  return [...files].filter(([path, text]) => !isFresh(join(folder, path), text)).map(([path]) => path);
}

/** What a test says of stale files. */
export function staleMessage(paths: readonly string[]): string {
  return `stale: ${paths.join(', ')}. Run \`npm run generate\` and look at what has changed.`;
}

function toText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
