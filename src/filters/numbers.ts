/**
 * Numbers and texts become each other as SQLite does it, on every engine: done here, because an engine of another kind, and
 * even another version of the same, writes its numbers in another way.
 */

/**
 * A REAL as it stands beside a text column: 5 is `5.0`, a tenth `0.1`, 10^20 `1.0e+20`. The digits are the fewest that mean this
 * number; versions of SQLite cut at 15 or at 17 digits, and agree with that where a number has few.
 */
export function realText(value: number): string {
  if (value === 0) return '0.0';
  if (!Number.isFinite(value)) return value > 0 ? 'Inf' : '-Inf';
  const [mantissa = '', exponentText] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  // Where SQLite begins to write exponents.
  if (exponent >= -4 && exponent < 17) return withFraction(decimalText(value));
  const sign = exponent < 0 ? '-' : '+';
  return `${withFraction(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function withFraction(decimal: string): string {
  return decimal.includes('.') ? decimal : `${decimal}.0`;
}

/** A number as a client would write it in a pattern: 5 is `5`; never with an exponent. */
export function decimalText(value: number): string {
  const [mantissa = '', exponentText] = String(value).split('e');
  if (exponentText === undefined) return mantissa;
  const exponent = Number(exponentText);
  const sign = mantissa.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(exponent, '0')}`;
}

/** What a text is beside a number column, or undefined if it does not look like a number: `5`, ` 5.0 `, `1e2`, `.5`, `5.`. */
export function numberOfText(text: string): number | undefined {
  // Anchored, and no two repetitions that could share characters: linear in the text.
  const looksLikeOne = /^[\t-\r ]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[\t-\r ]*$/.test(text);
  return looksLikeOne ? Number(text) : undefined;
}
