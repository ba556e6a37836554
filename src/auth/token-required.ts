import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';

/** The refusal of a request that needs an account and has no valid token of one. */
export function tokenRequired(): AppError {
  return new AppError('unauthorized', 'The request requires valid record authorization token.');
}

/** The refusal of a caller that is not an account of this collection. */
export function accountRequired({ name }: Collection): AppError {
  return new AppError('forbidden', `The request requires auth record from ${name} collection.`);
}
