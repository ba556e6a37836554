/** The largest sizes of what superusers may define; the same on both engines. */
export const collectionLimits = {
  collectionsMax: 1_000,
  fieldsMax: 500,
  indexesMax: 50,
  nameLengthMax: 255,
} as const;
