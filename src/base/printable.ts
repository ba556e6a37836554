/**
 * What a terminal obeys or does not show: control characters, also those of C1, marks that turn the direction of text, what has no width, and
 * separators of lines and paragraphs. Variation selectors stay, as many emoji have one.
 */
const UNSEEN = /[[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\uFE00-\uFE0F]]/gv;

/** Returns foreign text on one line; characters that a terminal would obey or hide become escapes as in JSON: `\u202e`. */
export function printable(line: string): string {
  return line.replaceAll(UNSEEN, escaped);
}

/** As {@link printable}, for a text of several lines: breaks of lines (LF) and tabs stay. */
export function printableLines(text: string): string {
  return text.replaceAll(UNSEEN, (character) => (isLayout(character) ? character : escaped(character)));
}

/** As {@link printableLines}, for a text with colours of our own: what others have written in it went through {@link printable} before. */
export function printableStyled(text: string): string {
  return text.replaceAll(UNSEEN, (character, at: number) => {
    const isColour = character === escape && /^\[\d{1,2}m/.test(text.slice(at + 1, at + 5));
    return isColour || isLayout(character) ? character : escaped(character);
  });
}

const escape = '\u001B';

function isLayout(character: string): boolean {
  return character === '\n' || character === '\t';
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
