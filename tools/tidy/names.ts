import { isDashboard, isKit, isProduct, isTest, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

const bannedFolders = new Set(['utils', 'helpers', 'common', 'services', 'types', 'interfaces', 'models']);
/** Words that say nothing anywhere in a name. */
const emptyWords = new Set(['manager', 'helper', 'helpers', 'util', 'utils', 'impl']);
/** Words that say nothing at the end of a name: `dataDirectory` is allowed, `recordData` is not. */
const emptyEndings = new Set(['data', 'info']);
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.tsx?$/;

export function checkNames(files: readonly SourceFile[]): readonly Violation[] {
  return files.flatMap((file) => [...checkPath(file), ...checkOwnName(file), ...checkExportedNames(file)]);
}

function checkPath({ path }: SourceFile): readonly Violation[] {
  const folders = path.split('/');
  const name = folders.pop() ?? '';
  const banned = folders.filter((folder) => bannedFolders.has(folder));
  return [
    ...banned.map((folder) => breach(path, 'folder', `${folder}/ names a kind of file, not a subject`)),
    ...(kebabCase.test(name) ? [] : [breach(path, 'file-name', `${name} is not in kebab-case`)]),
  ];
}

function breach(path: string, rule: string, message: string): Violation {
  return { path, line: 1, rule, message };
}

/**
 * A file is named after what it exports. One export: exactly, read-record.ts exports `readRecord`. Several exports, or
 * a name of one word or in the plural, make the file a subject, and an export must carry a word of its name: sqlite.ts
 * exports `openSqlite`, engine-errors.ts `toEngineError`, request-context.ts `contextOf`. Entry points, which are started
 * and not imported, and migrations are exempt.
 */
function checkOwnName(file: SourceFile): readonly Violation[] {
  const isEntry = /^(?:src|dashboard\/src)\/main\.tsx?$/.test(file.path) || file.path.endsWith('-worker.ts');
  const isShipped = isProduct(file.path) || isKit(file.path) || isDashboard(file.path);
  if (!isShipped || isEntry || file.path.includes('/migrations/')) return [];
  const stem = file.path.replace(/^.*\//, '').replace(/\.tsx?$/, '');
  const words = stem.split('-').map(singular);
  const isPlural = !stem.endsWith(words.at(-1) ?? '');
  const isSubject = words.length === 1 || isPlural || file.exports.length > 1;
  const isNamedAfter = file.exports.some(({ name }) => {
    const exported = wordsOf(name).map(singular);
    return isSubject ? words.some((word) => exported.includes(word)) : exported.join('-') === words.join('-');
  });
  if (isNamedAfter) return [];
  const camel = stem.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return [breach(file.path, 'file-name', `no export is named after the file: expected ${camel}`)];
}

function checkExportedNames(file: SourceFile): readonly Violation[] {
  if (isTest(file.path)) return [];
  return file.exports.flatMap(({ line, name }) => {
    const words = wordsOf(name);
    const empty = words.find((word) => emptyWords.has(word));
    const ending = emptyEndings.has(words.at(-1) ?? '') ? words.at(-1) : undefined;
    const word = empty ?? ending;
    return word === undefined
      ? []
      : [{ path: file.path, line, rule: 'name', message: `"${word}" in ${name} says nothing` }];
  });
}

/** Splits a name into words: `openSqlite3` is open, sqlite3. `HTTPServer` is the one word httpserver: we write `HttpServer`. */
function wordsOf(name: string): readonly string[] {
  return name
    .split(/(?<=[a-z0-9])(?=[A-Z])|_/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}
