export const listLimits = {
  perPageDefault: 30,
  perPageMax: 1_000,
  /** 2^31 − 1, so that page × perPage stays an exact number everywhere. */
  pageMax: 2_147_483_647,
  /** As long as all headers of a request may be. Only the URLs inside a batch could be longer. */
  fieldsLengthMax: 16_384,
  /** How much of a text is read for an excerpt, in UTF-16 units: a page may have a thousand excerpts. */
  excerptSourceLengthMax: 1_048_576,
} as const;
