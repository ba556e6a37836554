import { AppError } from '../base/errors.ts';

/**
 * Makes the error of an invalid filter. `problem` comes without its full stop; `position` is the offset of the culprit in the text, in UTF-16
 * units from 0. Both the message and `details.filter` contain it, so that a form can put its cursor there.
 */
export function filterError(problem: string, position: number): AppError {
  return refusal('filter', problem, position);
}

/** Makes the error of an invalid sort, with `details.sort`. */
export function sortError(problem: string, position: number): AppError {
  return refusal('sort', problem, position);
}

/** Quotes a client's text for a message, cut to `excerptMax`. A cut through a surrogate pair is repaired. */
export function quote(text: string): string {
  const excerpt = text.length <= excerptMax ? text : `${text.slice(0, excerptMax)}…`;
  return `"${excerpt.toWellFormed()}"`;
}

const excerptMax = 60;

function refusal(name: 'filter' | 'sort', problem: string, position: number): AppError {
  const message = `${problem} at position ${position}.`;
  const error = { code: `validation_invalid_${name}`, message, params: { position } };
  return new AppError('bad_request', message, { details: { [name]: error } });
}

/** The limits of filters and sorts (http-api A15, A20). Whatever exceeds them would cost time on every row or every request. */
export const filterLimits = {
  /** The length of a filter in UTF-8. */
  bytesMax: 3_500,
  comparisonsMax: 200,
  /** Nested parentheses. Filters written by hand have three or so. */
  depthMax: 32,
  /** Nested functions, including the outermost. */
  callDepthMax: 3,
  /** Format, time and modifiers of strftime together (http-api 8.2). */
  timeArgumentsMax: 10,
  /** Characters of a format: each may become a part of the statement. */
  timeFormatLengthMax: 100,
  /** Bytes of a time as text, blanks included; a complete one has less than 40. */
  timeLengthMax: 64,
  /** Consecutive digits in such a text: engines would round more than a double holds, each in its own way. */
  timeDigitsMax: 15,
  /** Bytes of a pattern of `~`: matching takes the length of the value times the number of wildcards, on every row. */
  patternBytesMax: 256,
  /** Values of a list in the request that are compared one by one. */
  constantsMax: 200,
  /** Relations that a path follows (http-api section 8). */
  hopsMax: 6,
  /** Joined tables besides the list's own; SQLite joins at most 64. */
  joinsMax: 32,
  /**
   * Comparisons, and tables joined for them, in the list rules of the collections that a client's filter and sort join. Each
   * comparison with all related records repeats these rules, so that a short filter could make a statement of megabytes, with more
   * parameters than an engine takes.
   */
  listRulesSizeMax: 1_000,
  sortKeysMax: 8,
  sortKeyLengthMax: 255,
} as const;
