/** What one request or connection may cost (http-api A20, section 4). */
export const httpLimits = {
  /** All header lines of a request together; Node answers 431 above. */
  headerBytesMax: 16 * 1024,
  bodyBytesMax: 32 * 1024 * 1024,
  /** Of the bodies of all clients together, while they are read. Those up to `smallBodyBytesMax` are always accepted and not counted. */
  bodiesBytesMax: 256 * 1024 * 1024,
  smallBodyBytesMax: 64 * 1024,
  /** Each costs a thousand times as much as its bytes. */
  formFieldsMax: 1_000,
  partHeaderBytesMax: 4 * 1024,
  partHeaderLinesMax: 16,
  /** Of all clients together, while they are not read; one answer alone may have half of it. Small ones do not count. */
  answersBytesMax: 512 * 1024 * 1024,
  smallAnswerBytesMax: 64 * 1024,
  /** 255 bytes of an id, percent-encoded. */
  paramLengthMax: 1_000,
  /** Fewer where the process may open few files (connections-max.ts). */
  connectionsMax: 10_000,
  /** A client that drips its headers is cut off after this long. */
  headersTimeoutMs: 10_000,
  /** For a whole request with its body. */
  requestTimeoutMs: 300_000,
  /** How long nothing may move on a connection in the middle of a request: its client does not read the answer. */
  stalledMs: 300_000,
  /** Longer than the idle time of common load balancers, or they would reuse a connection that we are closing. */
  keepAliveTimeoutMs: 65_000,
  /** How often the time-outs above are checked. */
  checkIntervalMs: 5_000,
} as const;
