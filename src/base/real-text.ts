import { decimalText } from './decimal-text.ts';

/**
 * Returns a REAL as a text column shows it: 5 is `5.0`, a tenth `0.1`, 10^20 `1.0e+20`. The digits are the fewest that mean this
 * number. SQLite's own text is not used: its versions cut at 15 or at 17 digits, and do not always round to the nearest.
 */
export function realText(value: number): string {
  if (value === 0) return '0.0';
  if (!Number.isFinite(value)) return value > 0 ? 'Inf' : '-Inf';
  const [mantissa = '', exponentText] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  // SQLite writes an exponent outside this range.
  if (exponent >= -4 && exponent < 17) return withFraction(decimalText(value));
  const sign = exponent < 0 ? '-' : '+';
  return `${withFraction(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function withFraction(decimal: string): string {
  return decimal.includes('.') ? decimal : `${decimal}.0`;
}
