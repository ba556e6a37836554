/**
 * How filters were read up to schema 24 on SQLite and 27 on PostgreSQL, frozen for the step that rewrites the stored ones: a quote behind
 * any backslash did not end a text, `\` and the quote of the text stood for that quote, and every other backslash for itself.
 */

/** Returns the filter with each text written so that it is read today as it was read then; undefined where a text had no end. */
export function rewriteTexts(filter: string): string | undefined {
  let rewritten = '';
  let copied = 0;
  for (let at = 0; at < filter.length; at += 1) {
    const mark = filter.charAt(at);
    if (mark === '/' && filter.charAt(at + 1) === '/') at = endOfLine(filter, at);
    if (mark !== "'" && mark !== '"') continue;
    const end = endOfText(filter, at);
    if (end === undefined) return undefined;
    const inner = filter.slice(at + 1, end);
    rewritten += filter.slice(copied, at + 1) + rewriteText(inner, mark);
    copied = end;
    at = end;
  }
  return rewritten + filter.slice(copied);
}

function endOfLine(filter: string, start: number): number {
  const end = filter.indexOf('\n', start);
  return end === -1 ? filter.length : end;
}

function endOfText(filter: string, start: number): number | undefined {
  const mark = filter.charAt(start);
  for (let at = start + 1; at < filter.length; at += 1)
    if (filter.charAt(at) === mark && filter.charAt(at - 1) !== '\\') return at;
  return undefined;
}

/** A text that means the same in both readings stays as its author wrote it. */
function rewriteText(inner: string, mark: string): string {
  const value = inner.replaceAll(`\\${mark}`, mark);
  const endsEarly = !(mark === '"' ? wholeDouble : wholeSingle).test(inner);
  if (!endsEarly && readToday(inner) === value) return inner;
  return value.replaceAll('\\', '\\\\').replaceAll(mark, `\\${mark}`);
}

/** What has no quote by which the text would end today. */
const wholeDouble = /^(?:\\[\s\S]|[^\\"])*$/;
const wholeSingle = /^(?:\\[\s\S]|[^\\'])*$/;

function readToday(inner: string): string {
  return inner.replaceAll(/\\([\\'"ntr])/g, (_, letter: string) => controls.get(letter) ?? letter);
}

const controls: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
]);
