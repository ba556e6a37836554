import { checkText, parseFilter, toNumber } from './parse.ts';
import { scanToken } from './scan.ts';

/** A filter as a form with places for its constants: filters of one form mean the same but for these. */
export interface FilterTemplate {
  /** The text, with U+0000 and a sign of its type in place of each constant. No filter holds this character. */
  readonly form: string;
  readonly literals: readonly (string | number)[];
  /** Where in the text each of the literals begins. */
  readonly positions: readonly number[];
}

/** Replaces the constants of a filter by slots. Arguments of a call stay: they may change the statement. Throws a filter error. */
export function filterTemplate(text: string): FilterTemplate {
  checkText(text);
  try {
    return takeApart(text);
  } catch (error) {
    // An earlier mistake is reported first.
    parseFilter(text);
    throw error;
  }
}

function takeApart(text: string): FilterTemplate {
  const literals: (string | number)[] = [];
  const positions: number[] = [];
  let form = '';
  let copied = 0;
  let depth = 0;
  for (let token = scanToken(text, 0); token.kind !== 'end'; token = scanToken(text, token.end)) {
    const { kind, start, end } = token;
    if (kind === 'call' || (kind === 'open' && depth > 0)) depth += 1;
    else if (kind === 'close' && depth > 0) depth -= 1;
    if (depth > 0 || (kind !== 'text' && kind !== 'number')) continue;
    form += text.slice(copied, start) + (kind === 'text' ? '\u0000t' : '\u0000n');
    literals.push(kind === 'text' ? token.text : toNumber(token.text, start));
    positions.push(start);
    copied = end;
  }
  return { form: form + text.slice(copied), literals, positions };
}
