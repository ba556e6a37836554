/** Of the HTML that is read for a line. */
const lengthMax = 2_000;

const hidden = /<!--[\s\S]*?-->|<(script|style)\b[\s\S]*?<\/\1\s*>/gi;
const blocks = /<\/?(?:blockquote|br|div|h[1-6]|hr|li|ol|p|pre|table|td|th|tr|ul)\b[^>]*>/gi;
const tags = /<\/?[a-z][^>]*>/gi;
const references = /&(?:#\d{1,7}|#x[\da-f]{1,6}|amp|apos|gt|lt|nbsp|quot);/gi;

const named: Readonly<Record<string, string>> = {
  amp: '&',
  apos: "'",
  gt: '>',
  lt: '<',
  nbsp: ' ',
  quot: '"',
};

/**
 * Returns the texts at the beginning of HTML in one line, for a look at it. Read without the browser's parser, which the policy of the page gives no
 * text: so what is written in an unusual way may show with its tags.
 */
export function plainText(html: string): string {
  const text = html
    .slice(0, lengthMax)
    .replaceAll(hidden, ' ')
    .replaceAll(blocks, ' ')
    .replaceAll(tags, '')
    .replaceAll(references, readReference)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return html.length <= lengthMax ? text : `${text}…`;
}

/** `&amp;`, `&#33;`, `&#x21;`. */
function readReference(reference: string): string {
  const name = reference.slice(1, -1).toLowerCase();
  if (!name.startsWith('#')) return named[name] ?? reference;
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : reference;
}
