/** Levels of severity, by the numbers that the SDKs use. */
export const logLevels = { info: 0, warn: 4, error: 8 } as const;

/** One request as its superusers find it in the log. Never holds a body, nor a header that could be a credential. */
export interface LogEntry {
  /** When it was answered: milliseconds since 1970. */
  readonly at: number;
  readonly level: number;
  readonly message: string;
  /** Members in the order of their names. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns the level of an answer: refusals are warnings, failures of the service are errors. */
export function levelOf(status: number): number {
  return status >= 500 ? logLevels.error : status >= 400 ? logLevels.warn : logLevels.info;
}
