/** The codes of the errors that callers see. A closed union: http/error-response.ts maps each code to one status. */
export type ErrorCode =
  | 'bad_request'
  | 'broken_rule'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'too_slow'
  | 'conflict'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'range_not_satisfiable'
  | 'unprocessable'
  | 'too_many_requests'
  | 'outcome_unknown'
  | 'unavailable'
  | 'storage_full'
  | 'quota_full';

/** One refused value, as the `data` of an error answer holds it. */
export interface FieldError {
  readonly code: string;
  readonly message: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** For a request in a batch: the answer that it would have got on its own. */
  readonly response?: ErrorEnvelope;
}

/** The body of every error answer. */
export interface ErrorEnvelope {
  readonly data: FieldErrors;
  readonly message: string;
  readonly status: number;
}

/** Refused values by name; nested for members that have members of their own. */
export interface FieldErrors {
  readonly [name: string]: FieldError | FieldErrors;
}

export interface AppErrorOptions {
  readonly details?: FieldErrors;
  readonly cause?: unknown;
  /** Seconds after which the same request may succeed. */
  readonly retryAfter?: number;
  /** A reason for the operator's log, which callers never see. */
  readonly explanation?: string;
}

/** An error whose message is meant for the caller. Anything else that is thrown is a bug: a 500 and a log line. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: FieldErrors;
  readonly retryAfter: number | undefined;
  readonly explanation: string | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details ?? {};
    this.retryAfter = options.retryAfter;
    this.explanation = options.explanation;
  }
}

/** The same message whether the thing is absent or not for the caller: a refusal must not reveal that it exists. */
export function notFound(): AppError {
  return new AppError('not_found', "The requested resource wasn't found.");
}

/** Another change has meanwhile altered what this request rests on. */
export function conflicting(): AppError {
  return new AppError('conflict', 'The request conflicts with another change.');
}

interface QuotaOptions extends Pick<AppErrorOptions, 'cause' | 'retryAfter'> {
  readonly code?: Extract<ErrorCode, 'bad_request' | 'quota_full' | 'too_many_requests'>;
}

/** The request would exceed what the operator lets the instance use. */
export class QuotaExceeded extends AppError {
  constructor(name: string, { code = 'bad_request', ...options }: QuotaOptions = {}) {
    const message = `The instance has reached its quota ${name}.`;
    super(code, message, {
      ...options,
      details: { quota: { code: 'quota_exceeded', message, params: { name } } },
    });
    this.name = 'QuotaExceeded';
  }
}

/** The refusal of too frequent requests; the client may try again after `retryAfter` seconds. */
export function tooManyRequests(retryAfter: number): AppError {
  return new AppError('too_many_requests', 'Too Many Requests.', { retryAfter });
}

/** The service is overloaded at the moment: nothing was done, and the same request may succeed in a second. */
export class Busy extends AppError {
  constructor(cause?: unknown) {
    super('unavailable', 'The service is busy, try again.', { cause, retryAfter: 1 });
  }
}

export function busy(cause?: unknown): AppError {
  return new Busy(cause);
}

/** Nothing was done; a retry may reach the process that comes after this one. */
export function stopping(): AppError {
  return new AppError('unavailable', 'The service is stopping.', { retryAfter: 1 });
}
