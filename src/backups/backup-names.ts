import { toTimestamp } from '../base/timestamp.ts';

/** What names of backups begin with that a schedule has made. */
export const autoPrefix = '@auto_';

/** Names as the reference has them, of which callers may choose one. */
const chosenForm = /^[a-z0-9_-]+\.zip$/;
const lengthMax = 150;

/** Whether a caller may give a new backup this name. */
export function isChosenName(name: string): boolean {
  return name.length <= lengthMax && chosenForm.test(name);
}

/** Returns a name for a backup of an instance at a time: `backup_shop_20261128103000.zip`. */
export function backupName(slug: string, nowMs: number, { isAuto = false } = {}): string {
  const stamp = toTimestamp(nowMs).slice(0, 19).replaceAll(/\D/g, '');
  return `${isAuto ? autoPrefix : 'backup_'}${slug}_${stamp}.zip`;
}
