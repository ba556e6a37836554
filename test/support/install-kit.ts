import { join } from 'node:path';
import { writeKit } from '../../tools/build/make-kit.ts';

/** Puts `@chancery/webhooks` where programs in `folder` find it, as npm would, without the rest of the repository. */
export function installKit(folder: string): void {
  writeKit(join(folder, 'node_modules', '@chancery', 'webhooks'));
}
