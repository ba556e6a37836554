import type { BenchOptions } from './options.ts';

/** Runs the lines of a benchmark one after the other, or the one that `only` names. Throws when there is none of that name. */
export async function runLines(
  lines: Readonly<Record<string, (options: BenchOptions) => Promise<void>>>,
  options: BenchOptions,
): Promise<void> {
  const { only } = options;
  const chosen = Object.entries(lines).filter(([name]) => only === undefined || name === only);
  if (chosen.length === 0)
    throw new Error(`There is no line ${String(only)}: expected ${Object.keys(lines).join(', ')}.`);
  for (const [, line] of chosen) await line(options);
}
