/**
 * Numbers and texts become each other as SQLite does it, on every engine: done here, because an engine of another kind, and
 * even another version of the same, writes its numbers in another way.
 */

/** What a text is beside a number column, or undefined if it does not look like a number: `5`, ` 5.0 `, `1e2`, `.5`, `5.`. */
export function numberOfText(text: string): number | undefined {
  // Anchored, and no two repetitions that could share characters: linear in the text.
  const looksLikeOne = /^[\t-\r ]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[\t-\r ]*$/.test(text);
  return looksLikeOne ? Number(text) : undefined;
}
