/** What an instance may leave in its log: the log is shared with nobody, but memory and time are. */
export const logLimits = {
  /** Oldest first out, whatever `maxDays` says. */
  rowsMax: 100_000,
  /** Noted in memory until the next write; more requests are counted, not noted. */
  bufferedMax: 200,
  /** Of these, so many only for what is more serious. */
  keptForRefusals: 40,
  keptForFailures: 10,
  /** How long a note may wait to be written. */
  writeDelayMs: 1_000,
  /** After a write that failed. */
  pauseMs: 10_000,
  /** UTF-16 units of a URL, and of each other text that came with a request. */
  urlLengthMax: 2_000,
  textLengthMax: 500,
} as const;
