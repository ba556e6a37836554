import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';

/** Records with passwords are written by the command line until accounts arrive: a half-made account would be a hole. */
export function refuseAuthCollection(collection: Collection): void {
  if (collection.type !== 'auth') return;
  throw new AppError(
    'bad_request',
    'Records of auth collections cannot be changed over HTTP yet: use the `superuser` commands.',
  );
}
