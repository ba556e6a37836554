/** How much a superuser may ask for: what an instance is given is shared with all others. */
export const settingsLimits = {
  textLengthMax: 2_000,
  listLengthMax: 200,
  rateLimitSecondsMax: 86_400,
  batchRequestsMax: 1_000,
  /** Others of the instance wait while a batch is written. */
  batchSecondsMax: 10,
} as const;
