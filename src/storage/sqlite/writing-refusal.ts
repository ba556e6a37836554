import { accessSync, constants } from 'node:fs';
import { codeOf } from '../../base/code-of.ts';

/**
 * Returns the code of the error with which the system refuses writes to a file or directory, or undefined. A file system may become
 * read-only while it is in use (`EROFS`): Linux does that when its medium fails.
 */
export function writingRefusal(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}
