import { codeOf } from '../../base/code-of.ts';
import { ConnectFailure } from '../../network/connect-failure.ts';
import type { AttemptKind } from './attempt-result.ts';

export interface AttemptFailure {
  readonly kind: Exclude<AttemptKind, 'success' | 'status'>;
  /** In plain words. */
  readonly cause: string;
}

const protocolWords: Readonly<Record<string, string>> = {
  ANSWER_TOO_LONG: 'The answer has too many headers or interim answers.',
  UND_ERR_HEADERS_OVERFLOW: "The answer's headers are larger than 16 KiB.",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'The answer has another length than it announced.',
  UND_ERR_INVALID_ARG: "The request could not be built: one of the endpoint's own headers is not valid.",
};

/** undici reports 100 Continue, a switch of protocol and an answer before any request with errors that cannot be told apart. */
const unasked =
  'The receiver sent what nothing had asked for, such as 100 Continue or a switch to another protocol.';

/** Returns what an error of the connection or of undici means for the attempt; `hasAnswer`: a part of the answer had arrived. */
export function attemptFailure(error: unknown, hasAnswer: boolean): AttemptFailure {
  if (error instanceof ConnectFailure) return { kind: error.kind, cause: error.message };
  const code = codeOf(error);
  const words = protocolWords[code];
  if (words !== undefined) return { kind: 'protocol', cause: words };
  if (code === 'UND_ERR_SOCKET' && error instanceof Error && error.message.startsWith('bad ')) {
    return { kind: 'protocol', cause: unasked };
  }
  if (['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(code)) {
    return hasAnswer
      ? { kind: 'protocol', cause: 'The connection was closed in the middle of the answer.' }
      : { kind: 'connect', cause: 'The connection was closed without an answer.' };
  }
  return { kind: 'protocol', cause: `The answer is not valid HTTP/1.1 (${code || 'unknown'}).` };
}

/** True for statuses that say something about the receiver as a whole rather than about one event. */
export function isEndpointWideStatus(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}
