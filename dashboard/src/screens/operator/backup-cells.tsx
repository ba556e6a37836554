import CircleAlert from 'lucide-react/icons/circle-alert';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import type { InstanceBackup } from '../../api/operator.ts';
import { runningWords } from '../../parts/backup-words.tsx';
import { Badge } from '../../parts/badge.tsx';
import { byteSize } from '../../parts/byte-size.ts';
import { Time } from '../../parts/time.tsx';

interface OfBackup {
  readonly backup: InstanceBackup;
}

/** When the last backup was made, and whether that is too long ago. */
export function LastBackup({ backup: { lastBackup, isOverdue, running } }: OfBackup) {
  return (
    <span className="operator-copied">
      {running !== null && <span role="status">{runningWords[running.kind]} …</span>}
      {lastBackup === null && running === null && <span className="faint">never</span>}
      {lastBackup !== null && <Time value={lastBackup.ended} />}
      {isOverdue && (
        <Badge tone="retrying" icon={TriangleAlert}>
          overdue
        </Badge>
      )}
    </span>
  );
}

export function BackupSize({ backup: { lastBackup } }: OfBackup) {
  return lastBackup === null ? '–' : byteSize(lastBackup.bytes);
}

export function LastVerification({ backup: { lastVerification } }: OfBackup) {
  if (lastVerification === null) return <span className="faint">never</span>;
  return <Time value={lastVerification.ended} />;
}

/** Why the last job failed. */
export function BackupFailure({ backup: { failure } }: OfBackup) {
  if (failure === null) return null;
  return (
    <span className="operator-failure">
      <CircleAlert size={14} aria-hidden />
      {failure.message}
    </span>
  );
}
