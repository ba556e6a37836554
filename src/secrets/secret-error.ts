/**
 * A key or a sealed text is not what it must be. The operator can mend it (the message says how), a caller cannot: to a
 * caller it is a 500, never an AppError. Messages name files and purposes, never values.
 */
export class SecretError extends Error {
  override readonly name = 'SecretError';
}
