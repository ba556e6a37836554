/** What can be wrong with a request. A closed union, so that a `switch` over it can be complete. */
export type WebhookErrorCode =
  | 'missing_header'
  | 'bad_timestamp'
  | 'old_timestamp'
  | 'future_timestamp'
  | 'wrong_signature'
  | 'bad_body'
  | 'body_too_large';

/**
 * The request is not a genuine webhook. The message says what is wrong in plain words and holds no secret, so it may be sent as the
 * answer: Chancery's delivery log then shows it to the owner of the endpoint. `status` is the HTTP status that fits.
 */
export class WebhookError extends Error {
  readonly code: WebhookErrorCode;
  readonly status: number;

  constructor(code: WebhookErrorCode, message: string, status: number) {
    super(message);
    this.name = 'WebhookError';
    this.code = code;
    this.status = status;
  }
}

/** A header that every webhook has is absent or empty. */
export class MissingHeaderError extends WebhookError {
  readonly header: string;

  constructor(header: string) {
    super('missing_header', `The header ${header} is missing.`, 400);
    this.name = 'MissingHeaderError';
    this.header = header;
  }
}

/** The time of the attempt is not a number, or too far from the clock of this machine. */
export class TimestampError extends WebhookError {
  /** How long ago the request says it was made, negative for the future; NaN when it does not say a number. */
  readonly ageSeconds: number;

  constructor(ageSeconds: number, toleranceSeconds: number) {
    super(timestampCode(ageSeconds), timestampMessage(ageSeconds, toleranceSeconds), 401);
    this.name = 'TimestampError';
    this.ageSeconds = ageSeconds;
  }
}

/** None of the secrets has made any of the signatures: another secret, another body, or a forgery. */
export class SignatureError extends WebhookError {
  constructor(message: string) {
    super('wrong_signature', message, 401);
    this.name = 'SignatureError';
  }
}

/** The signature is genuine, but the body is not an event of Chancery. */
export class BodyError extends WebhookError {
  constructor(message: string) {
    super('bad_body', message, 400);
    this.name = 'BodyError';
  }
}

/** The body is longer than the receiver allows; it was not read to its end. */
export class BodySizeError extends WebhookError {
  constructor(bytesMax: number) {
    super('body_too_large', `The body is longer than ${bytesMax} bytes.`, 413);
    this.name = 'BodySizeError';
  }
}

/** The receiver's own secret cannot be one. This is not the sender's fault, so it is not a WebhookError. */
export class SecretError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SecretError';
  }
}

function timestampCode(ageSeconds: number): WebhookErrorCode {
  if (Number.isNaN(ageSeconds)) return 'bad_timestamp';
  return ageSeconds > 0 ? 'old_timestamp' : 'future_timestamp';
}

function timestampMessage(ageSeconds: number, toleranceSeconds: number): string {
  if (Number.isNaN(ageSeconds)) return 'The header webhook-timestamp is not a number of seconds since 1970.';
  const distance =
    ageSeconds > 0 ? `${ageSeconds} seconds old` : `${-ageSeconds} seconds ahead of this machine's clock`;
  return `The webhook is ${distance}; at most ${toleranceSeconds} are allowed.`;
}
