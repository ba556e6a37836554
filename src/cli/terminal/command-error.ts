/** What a command ends with, so that a script can tell why: the codes of sysexits.h where it has one. */
export const exitCodes = {
  done: 0,
  /** The answer to what was asked is no: definitions differ, a signature does not fit, something is not well. */
  no: 1,
  /** The command line was wrong, and nothing was done (EX_USAGE). */
  usage: 64,
  /** What was given, or is there, does not allow it (EX_DATAERR). */
  refused: 65,
  /** The service or the data cannot be reached, or not now (EX_UNAVAILABLE). */
  unavailable: 69,
  /** A fault of this program (EX_SOFTWARE). */
  bug: 70,
  /** Something could not be read or written, or there is no room for it (EX_IOERR). */
  io: 74,
  /** Who asks may not do it (EX_NOPERM). */
  permission: 77,
  /** Ended by Ctrl-C before it was done, as shells say it. */
  interrupted: 130,
} as const;

/** A command has failed for a reason that its user can understand. The message is one line. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
