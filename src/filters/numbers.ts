/**
 * Numbers and texts are converted to each other as SQLite does it, on every engine. Constants are converted here, because other
 * engines, and even other versions of SQLite, write numbers differently.
 */

/** The number that a text is beside a number column (`5`, ` 5.0 `, `1e2`, `.5`, `5.`); undefined if it does not look like one. */
export function numberOfText(text: string): number | undefined {
  // Takes linear time: anchored, and no two repetitions can match the same characters.
  const looksLikeOne = /^[\t-\r ]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[\t-\r ]*$/.test(text);
  return looksLikeOne ? Number(text) : undefined;
}
