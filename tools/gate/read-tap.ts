/** What a run of tests came to, as Node's reporter `tap` tells it (https://testanything.org). */
export interface TestRun {
  /** Whether it came to its end: a process that ends before its tests may do so without an error. */
  readonly isWhole: boolean;
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly TestFailure[];
}

export interface TestFailure {
  readonly title: string;
  /** `file:line:column` of the test, or empty for a process that ended before its tests. */
  readonly place: string;
  /** The first line of the error. */
  readonly error: string;
}

/** Reads the tests themselves: a suite that fails because of its tests is left out. */
export function readTap(tap: string): TestRun {
  const lines = tap.split('\n');
  const failures = lines.flatMap((line, at) => {
    const title = /^\s*not ok \d+ - (.*)$/.exec(line)?.[1];
    if (title === undefined || / # TODO/.test(title)) return [];
    const end = lines.findIndex((other, index) => index > at && /^\s*\.\.\.$/.test(other));
    const details = lines.slice(at, end);
    if (valueIn(details, 'failureType') === 'subtestsFailed') return [];
    const place = valueIn(details, 'location');
    return [{ title: title.replaceAll(/\\(.)/g, '$1'), place, error: valueIn(details, 'error') }];
  });
  const isWhole = lines.some((line) => line.startsWith('# pass '));
  return { isWhole, passed: countOf(lines, 'pass'), skipped: countOf(lines, 'skipped'), failures };
}

function valueIn(details: readonly string[], name: string): string {
  const at = details.findIndex((line) => line.trim().startsWith(`${name}: `));
  const value = (details[at] ?? '').trim().slice(name.length + 2);
  // A text of several lines stands indented below its name.
  if (value.startsWith('|')) return (details[at + 1] ?? '').trim();
  return value.replaceAll(/^'|'$/g, '');
}

/** The counts of the whole run stand at its end. */
function countOf(lines: readonly string[], name: string): number {
  const line = lines.findLast((other) => other.startsWith(`# ${name} `));
  return Number(line?.slice(name.length + 3) ?? 0);
}
