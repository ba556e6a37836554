/** Limits of what superusers may decide about endpoints; the API's description states the same. */
export const endpointLimits = {
  /** Kept low, because every write of a record is matched against each endpoint. */
  endpointsMax: 100,
  urlLengthMax: 2_048,
  descriptionLengthMax: 1_000,
  collectionsMax: 200,
  headersMax: 50,
  headerValueLengthMax: 4_096,
  requestsInFlightMax: 64,
  timeoutMsMin: 1_000,
  timeoutMsMax: 30_000,
  scheduleLengthMax: 50,
  scheduleSecondsMax: 7 * 86_400,
} as const;
