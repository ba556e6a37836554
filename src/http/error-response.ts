import { codeOf } from '../base/code-of.ts';
import { AppError, notFound, type ErrorCode, type ErrorEnvelope, type FieldErrors } from '../base/errors.ts';

/** The status of the answer for each error code. */
const statusOf: Readonly<Record<ErrorCode, number>> = {
  bad_request: 400,
  broken_rule: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  too_many_requests: 429,
  outcome_unknown: 500,
  unavailable: 503,
  storage_full: 507,
};

const NOTHING_TOLD = 'Something went wrong while processing your request.';

export interface ErrorAnswer {
  readonly status: number;
  readonly body: string;
  /** Seconds for `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** True when the service is at fault, so that the operator must be told. */
  readonly isOurs: boolean;
}

/** Returns the answer to whatever a handler threw. Only an AppError's message reaches the caller; anything else says nothing. */
export function toErrorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof AppError) {
    const status = statusOf[error.code];
    const body = errorBody(status, error.message, error.details);
    return { status, body, retryAfter: error.retryAfter, isOurs: status >= 500 };
  }
  const framework = frameworkError(error);
  if (framework !== undefined) return toErrorAnswer(framework);
  return { status: 500, body: errorBody(500, NOTHING_TOLD, {}), retryAfter: undefined, isOurs: true };
}

export function errorBody(status: number, message: string, data: FieldErrors): string {
  return JSON.stringify({ data, message: sentence(message), status });
}

/** Returns the body of an error's answer as a value. */
export function errorEnvelope(error: AppError): ErrorEnvelope {
  return { data: error.details, message: sentence(error.message), status: statusOf[error.code] };
}

/** Translates what Fastify itself refuses before a handler runs into our own error. */
function frameworkError(error: unknown): AppError | undefined {
  switch (codeOf(error)) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new AppError('unsupported_media_type', 'Unsupported Content-Type.');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return new AppError('bad_request', NOTHING_TOLD);
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return notFound();
    default:
      return undefined;
  }
}

function sentence(message: string): string {
  const text = message.trim();
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(first) ? first : `${first}.`;
}
