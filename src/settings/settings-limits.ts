/** Limits of what superusers may set, because all instances share the resources of the service. */
export const settingsLimits = {
  textLengthMax: 2_000,
  listLengthMax: 200,
  rateLimitSecondsMax: 86_400,
  batchRequestsMax: 1_000,
  /** Other writes of the instance wait while a batch is written. */
  batchSecondsMax: 10,
} as const;
