import { type DataHome, noMemory } from '../storage/data-home.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import { unmarkReplaced } from './replacement-mark.ts';

/** Where instances are, and what is known of them. */
export interface InstanceDirectoryHome {
  readonly home: DataHome;
  readonly directory: InstanceDirectory;
}

/** Serves an instance again that was not replaced after all. Can be repeated after an interruption. */
export async function leavePlace(
  { home, directory }: InstanceDirectoryHome,
  replaced: string,
): Promise<void> {
  await directory.refresh();
  if (directory.find(replaced)?.state !== 'replacing') return;
  const old = await home.openInstance(replaced, noMemory);
  try {
    await unmarkReplaced(old);
  } finally {
    await old.stop();
  }
  await directory.endReplacing(replaced);
}
