import { crc32 } from 'node:zlib';

/** Lowers only ASCII letters, so that both engines treat them as equal in any locale. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Returns a number as a client would type it in a pattern: 5 is `5`; never with an exponent. */
export function decimalText(value: number): string {
  const [mantissa = '', exponentText] = String(value).split('e');
  if (exponentText === undefined) return mantissa;
  const exponent = Number(exponentText);
  const sign = mantissa.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(exponent, '0')}`;
}

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

const radix = 36;

/** Returns `<length>.<CRC-32 of the text in UTF-8>`: distinguishes a few known texts, but an attacker could forge it. */
export function textDigest(text: string): string {
  return `${text.length.toString(radix)}.${crc32(text).toString(radix)}`;
}
