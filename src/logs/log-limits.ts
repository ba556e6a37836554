/** Limits of an instance's log. Instances share no log, but they share memory and time. */
export const logLimits = {
  /** The oldest rows beyond this are deleted, whatever `maxDays` says. */
  rowsMax: 100_000,
  /** Entries in memory until the next write; further requests are only counted. */
  bufferedMax: 200,
  /** Places among these that are reserved for refusals and failures, and for failures alone. */
  keptForRefusals: 40,
  keptForFailures: 10,
  /** How long an entry may wait to be written. */
  writeDelayMs: 1_000,
  /** Pause after a failed write. */
  pauseMs: 10_000,
  /** Length in UTF-16 units of a URL, and of each other text that came with a request. */
  urlLengthMax: 2_000,
  textLengthMax: 500,
} as const;
