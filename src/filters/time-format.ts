/** A parsed format of strftime: engines never get a format that was not understood here. */
export interface TimeFormat {
  readonly text: string;
  readonly parts: readonly TimePart[];
}

/** A literal text, or a letter behind a percent sign. */
export type TimePart = { readonly text: string } | { readonly letter: TimeLetter };

/** All letters of SQLite's strftime except `J`, whose digits depend on the version of the engine. */
const timeLetters = [
  ...(['d', 'e', 'f', 'F', 'g', 'G', 'H', 'I', 'j', 'k', 'l', 'm', 'M'] as const),
  ...(['p', 'P', 'R', 's', 'S', 'T', 'u', 'U', 'V', 'w', 'W', 'Y'] as const),
];

export type TimeLetter = (typeof timeLetters)[number];

/** Parses a format; returns the part that is not understood, if there is one. */
export function parseTimeFormat(text: string): TimeFormat | { readonly unknown: string } {
  const parts: TimePart[] = [];
  for (const [found, percent] of text.matchAll(/[^%]+|(%[\s\S]?)/gu)) {
    if (percent === undefined || percent === '%%') {
      parts.push({ text: percent === undefined ? found : '%' });
      continue;
    }
    const letter = timeLetters.find((candidate) => `%${candidate}` === percent);
    if (letter === undefined) return { unknown: percent };
    parts.push({ letter });
  }
  return { text, parts };
}
