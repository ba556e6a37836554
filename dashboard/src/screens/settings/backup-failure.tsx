import { Failure } from '../../api/client.ts';
import { FailureNotice } from '../../parts/notice.tsx';

/** Why something could not be done with a backup. What the service says of the name or the file follows, as those are not on the page any more. */
export function BackupFailure({ error }: { readonly error: unknown }) {
  const details = error instanceof Failure ? [...error.fields.values()] : [];
  const message =
    error instanceof Failure && details.length > 0 ? [error.message, ...details].join(' ') : undefined;
  return <FailureNotice error={error} message={message} />;
}
