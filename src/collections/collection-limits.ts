/** Limits of what superusers may define; the same on both engines. */
export const collectionLimits = {
  collectionsMax: 1_000,
  fieldsMax: 500,
  indexesMax: 50,
  /** The text as a client writes it. What is stored may be longer: names get quotes, and the collection may be renamed. */
  indexTextLengthMax: 2_000,
  nameLengthMax: 255,
} as const;
