/** A format of strftime, taken apart: no engine is handed one that was not understood here. */
export interface TimeFormat {
  readonly text: string;
  readonly parts: readonly TimePart[];
}

/** A text that stands for itself, or what a letter behind a percent sign stands for. */
export type TimePart = { readonly text: string } | { readonly letter: TimeLetter };

/** Of SQLite's letters all but `J`, whose digits depend on the version of the engine. */
const timeLetters = [
  ...(['d', 'e', 'f', 'F', 'g', 'G', 'H', 'I', 'j', 'k', 'l', 'm', 'M'] as const),
  ...(['p', 'P', 'R', 's', 'S', 'T', 'u', 'U', 'V', 'w', 'W', 'Y'] as const),
];

export type TimeLetter = (typeof timeLetters)[number];

/** Undefined, with the culprit told to `refuse`, for a format that is not one. */
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
