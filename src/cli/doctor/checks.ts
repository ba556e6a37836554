import { printable } from '../../base/printable.ts';
import { type CommandIo, printStyled } from '../terminal/print.ts';
import { colorsOf, showJson } from '../terminal/show.ts';

/** One thing that a command has looked at, and how it is. */
export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'failure';
  /** What was found, as a sentence. */
  readonly message: string;
  /** What to do about it, as a sentence; only of what is not well. */
  readonly advice?: string;
}

/** Shows a line for each check, and below one that is not well what to do; or JSON, with what it all comes to by this name. */
export async function showChecks(
  io: CommandIo,
  checks: readonly Check[],
  { isJson, verdict }: { readonly isJson: boolean; readonly verdict: string },
): Promise<void> {
  const isWell = hasNoFailure(checks);
  if (isJson) return showJson(io, { [verdict]: isWell, checks });
  const width = Math.max(...checks.map(({ name }) => name.length));
  const { green, yellow, red } = colorsOf(io);
  const colors = { ok: green, warning: yellow, failure: red } as const;
  const lines = checks.flatMap(({ name, state, message, advice }) => {
    const start = `${colors[state](state.padEnd('warning'.length))}  ${name.padEnd(width)}  `;
    const below = ' '.repeat('warning'.length + 2 + width + 2);
    const line = `${start}${printable(message)}\n`;
    return advice === undefined ? [line] : [line, `${below}${printable(advice)}\n`];
  });
  await printStyled(io, lines.join(''));
}

export function hasNoFailure(checks: readonly Check[]): boolean {
  return checks.every(({ state }) => state !== 'failure');
}
