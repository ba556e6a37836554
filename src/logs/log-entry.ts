/** How serious an entry is, in the numbers that the SDKs know. */
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

/** As {@link logLevels} has it: a refusal is the caller's concern, a failure ours. */
export function levelOf(status: number): number {
  return status >= 500 ? logLevels.error : status >= 400 ? logLevels.warn : logLevels.info;
}
