import { AppError } from '../base/errors.ts';
import { codeOf } from '../base/process.ts';
import { S3Failure } from '../files/s3-client.ts';
import { toDiskError } from '../storage/engine-errors.ts';

const noRights = 'The service has no rights to the folder of backups.';
const noFolder = 'The folder of backups is no folder.';

/** Without paths, which are the operator's affair. */
const reasons: Readonly<Record<string, string>> = {
  EACCES: noRights,
  EPERM: noRights,
  EROFS: 'The folder of backups cannot be written.',
  ENOTDIR: noFolder,
  EEXIST: noFolder,
  EISDIR: 'There is a folder with the name of the backup.',
};

/** Translates an error of a place of backups into one that says what is wrong with it. Any other is returned unchanged. */
export function toPlaceError(error: unknown): unknown {
  if (error instanceof S3Failure)
    return new AppError('bad_request', `Backups in S3: ${error.reason}`, { cause: error });
  const reason = reasons[codeOf(error)];
  return reason === undefined ? toDiskError(error) : new AppError('bad_request', reason, { cause: error });
}

/** Runs work on a place of backups. Throws bad_request and storage_full, which say what is wrong with the place. */
export async function atPlace<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toPlaceError(error);
  }
}
