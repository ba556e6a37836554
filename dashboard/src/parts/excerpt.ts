/** More than a paragraph. A text of a megabyte would take seconds to lay out. */
const lengthMax = 2_000;
/** More than the widest column has room for, which cuts the rest with an ellipsis of its own. */
const lineMax = 500;

/** A part of a long text from `start` on; it says how long the whole is. */
export function excerpt(text: string, start = 0): string {
  if (text.length <= lengthMax) return text;
  const end = start + lengthMax;
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''} (${text.length.toLocaleString()} characters)`;
}

/** The beginning of a text where there is room for a line. */
export function excerptLine(text: string): string {
  return text.length <= lineMax ? text : `${text.slice(0, lineMax)}…`;
}
