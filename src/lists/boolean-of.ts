/** Returns the boolean that a word means to Go's strconv.ParseBool, on which the clients of this API rely; undefined for other words. */
export function booleanOf(word: string): boolean | undefined {
  return booleans.get(word);
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((word) => [word, false] as const),
]);
