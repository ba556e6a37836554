import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';

/** For whoever has to be somebody, and has shown no token of an account that is there. */
export function tokenRequired(): AppError {
  return new AppError('unauthorized', 'The request requires valid record authorization token.');
}

/** For whoever is somebody, but no account of this collection. */
export function accountRequired({ name }: Collection): AppError {
  return new AppError('forbidden', `The request requires auth record from ${name} collection.`);
}
