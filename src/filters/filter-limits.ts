/** The largest sizes of what a client may ask with (http-api A15, A20). All of them cost time on every row or every request. */
export const filterLimits = {
  /** Of UTF-8. */
  bytesMax: 3_500,
  comparisonsMax: 200,
  /** Parentheses inside each other. People write three; a program that writes more than this has lost count. */
  depthMax: 32,
  /** Functions inside the arguments of functions, the outermost counted. */
  callDepthMax: 3,
  /** Format, time and modifiers of strftime together (http-api 8.2). */
  timeArgumentsMax: 10,
  /** Characters of a format: each of them may become a part of the statement. */
  timeFormatLengthMax: 100,
  /** Characters of a time in a text, blanks included; one that is written in full has less than 40. */
  timeLengthMax: 64,
  /** Digits in a row in such a text: more than a number keeps would be rounded by each engine in its own way. */
  timeDigitsMax: 15,
  /** Bytes of what `~` looks for: matching takes the length of the value times the number of wildcards, on every row. */
  patternBytesMax: 256,
  /** Values of a list in the request that are compared one by one. */
  constantsMax: 200,
  /** Relations from one field to the next (http-api section 8). */
  hopsMax: 6,
  /** Tables beside the list's own; SQLite joins 64 at most. */
  joinsMax: 32,
  sortKeysMax: 8,
  sortKeyLengthMax: 255,
} as const;
