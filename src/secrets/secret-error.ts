/**
 * A key or a sealed text is not valid. The operator can fix that (the message says how) but a caller cannot, so callers get a 500:
 * it is never an AppError. Messages name files and purposes, never values.
 */
export class SecretError extends Error {
  override readonly name = 'SecretError';
}
