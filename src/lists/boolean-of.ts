/** Of the words of Go's strconv.ParseBool, which the clients of this API rely on; undefined for all others. */
export function booleanOf(word: string): boolean | undefined {
  return booleans.get(word);
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((word) => [word, false] as const),
]);
