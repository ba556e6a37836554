/**
 * The pattern a value of `~` asks for. With a `%` of its own the value is the pattern; without, it is to be found anywhere, and
 * `%`, `_` and `\` in it mean themselves, escaped already or not (http-api 8.4).
 */
export function likePattern(value: string): string {
  if (hasWildcard(value)) return value;
  // Two alternatives: what is escaped already stays, what is not becomes so.
  const escaped = value.replaceAll(/\\[\\%_]|[\\%_]/g, (found) =>
    found.length === 2 ? found : `\\${found}`,
  );
  return `%${escaped}%`;
}

function hasWildcard(value: string): boolean {
  return value.replaceAll(/\\[\s\S]/g, '').includes('%');
}
