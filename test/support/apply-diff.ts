/**
 * Applies unified diffs exactly: every line that a hunk keeps or removes must stand in the file, one after the other, at one place only.
 * Line numbers may be out of date, as they are whenever something above has changed; the counts behind them may not.
 */

interface FileDiff {
  readonly path: string;
  readonly isNew: boolean;
  readonly hunks: readonly Hunk[];
}

interface Hunk {
  readonly header: string;
  /** The lines that must be there, and those that replace them. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Returns the changed files by path. `read` returns the text of a file, or undefined if there is none. */
export function applyDiff(
  diff: string,
  read: (path: string) => string | undefined,
): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const file of parseDiff(diff)) {
    const text = changed.get(file.path) ?? read(file.path);
    if (file.isNew && text !== undefined) throw new Error(`${file.path}: the diff adds it, but it exists`);
    if (!file.isNew && text === undefined)
      throw new Error(`${file.path}: the diff changes it, but there is no such file`);
    changed.set(file.path, applyHunks(file, text ?? ''));
  }
  return changed;
}

function applyHunks({ path, isNew, hunks }: FileDiff, text: string): string {
  const lines = text.split('\n');
  // Hunks stand in the order of the file: what is above the end of one is no place for the next.
  let from = 0;
  for (const [index, { header, before, after }] of hunks.entries()) {
    const places = lines
      .keys()
      .filter((at) => at >= from && before.every((line, offset) => lines[at + offset] === line));
    const [place, other] = [...places];
    const where = `${path}, hunk ${index + 1} (${header})`;
    if (before.length === 0 && !isNew) throw new Error(`${where}: it has no lines that say where it belongs`);
    if (place === undefined) throw new Error(`${where}: ${nearestMismatch(lines, before, from)}`);
    if (other !== undefined && !isNew)
      throw new Error(
        `${where}: its lines stand at lines ${place + 1} and ${other + 1}; give it more context`,
      );
    lines.splice(place, before.length, ...after);
    from = place + after.length;
  }
  return lines.join('\n');
}

/** Says where the lines of a hunk begin, and which of them is another one there. */
function nearestMismatch(lines: readonly string[], before: readonly string[], from: number): string {
  let nearest = { at: from, matching: 0 };
  for (let at = from; at < lines.length; at += 1) {
    const mismatch = before.findIndex((line, offset) => lines[at + offset] !== line);
    if (mismatch > nearest.matching) nearest = { at, matching: mismatch };
  }
  const { at, matching } = nearest;
  const expected = JSON.stringify(before[matching]);
  if (matching === 0) return `no line${from === 0 ? '' : ` below line ${from}`} is ${expected}`;
  const found = lines[at + matching];
  return `line ${at + matching + 1} is ${found === undefined ? 'behind the end' : JSON.stringify(found)} instead of ${expected}`;
}

function parseDiff(diff: string): readonly FileDiff[] {
  return diff
    .split(/^(?=--- (?:a\/|\/dev\/null))/m)
    .filter((part) => part.trim() !== '')
    .map(parseFile);
}

function parseFile(text: string): FileDiff {
  const [head = '', ...hunks] = text.split(/^(?=@@ )/m);
  const [, from = '', path = ''] = /^--- (\/dev\/null|a\/\S+)\n\+\+\+ b\/(\S+)\n$/.exec(head) ?? [];
  const isNew = from === '/dev/null';
  if (path === '' || hunks.length === 0 || !(isNew || from === `a/${path}`))
    throw new Error(
      `expected "--- a/path", "+++ b/path" and hunks, found ${JSON.stringify(head.slice(0, 200))}`,
    );
  return { path, isNew, hunks: hunks.map((hunk, index) => parseHunk(hunk, `${path}, hunk ${index + 1}`)) };
}

function parseHunk(text: string, where: string): Hunk {
  const [header = '', ...lines] = text.replace(/\n$/, '').split('\n');
  const [, before = '1', after = '1'] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(header) ?? [];
  // Editors take the blank off a line that the diff keeps and that is empty.
  const signed = lines.map((line) => (line === '' ? ' ' : line));
  const wrong = signed.find((line) => !/^[ +-]/.test(line));
  if (wrong !== undefined)
    throw new Error(`${where}: expected " ", "+" or "-" before ${JSON.stringify(wrong)}`);
  const linesOf = (sign: ' +' | ' -'): readonly string[] =>
    signed.filter((line) => sign.includes(line.charAt(0))).map((line) => line.slice(1));
  const hunk = { header, before: linesOf(' -'), after: linesOf(' +') };
  if (hunk.before.length !== Number(before) || hunk.after.length !== Number(after))
    throw new Error(
      `${where}: ${header} should count ${hunk.before.length} lines before and ${hunk.after.length} after`,
    );
  return hunk;
}
