/**
 * Converts the right side of `~` to a LIKE pattern. A value with a wildcard `%` is the pattern itself. Any other is searched for
 * anywhere, and `%`, `_` and `\` in it stand for themselves, whether they are escaped or not (http-api 8.4).
 */
export function likePattern(value: string): string {
  if (hasWildcard(value)) return value;
  // The first alternative matches what is already escaped, and stays as it is.
  const escaped = value.replaceAll(/\\[\\%_]|[\\%_]/g, (found) =>
    found.length === 2 ? found : `\\${found}`,
  );
  return `%${escaped}%`;
}

function hasWildcard(value: string): boolean {
  return value.replaceAll(/\\[\s\S]/g, '').includes('%');
}
