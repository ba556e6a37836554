import type { TransferJob } from '../backups/job-store.ts';
import { type InstanceDirectoryHome, leavePlace } from '../instances/leave-place.ts';

/** Serves an instance again that a restore, which has failed, was about to replace. Only for the holder of the job. */
export async function undoJob(
  data: InstanceDirectoryHome,
  { kind, instance }: Pick<TransferJob, 'kind' | 'instance'>,
): Promise<void> {
  if (kind !== 'restore') return;
  await data.directory.refresh();
  const entry = data.directory.findShown(instance);
  if (entry !== undefined) await leavePlace(data, entry.id);
}
