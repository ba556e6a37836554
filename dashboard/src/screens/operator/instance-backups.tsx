import { useQuery } from '@tanstack/react-query';
import Archive from 'lucide-react/icons/archive';
import { instanceBackupQuery } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { failureWords } from '../../parts/backup-words.ts';
import { Button } from '../../parts/button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { BackupSize, LastBackup, LastVerification } from './backup-cells.tsx';
import { useBackUp } from './use-back-up.ts';

/** The last backup of an instance, and why the last job failed. */
export function InstanceBackups({ id }: { readonly id: string }) {
  const { data: backup, error, refetch } = useQuery(instanceBackupQuery(id));
  const { isRunning, start } = useBackUp();
  const failure = backup?.failure ?? null;
  const isBusy = isRunning || (backup?.running ?? null) !== null;
  return (
    <section className="section" aria-labelledby="backups">
      <div className="section-head section-head-actions">
        <h2 id="backups">Backups</h2>
        {mayOperate('instances:write') && (
          <Button icon={Archive} disabled={isBusy} onClick={() => void start(id)}>
            {isRunning ? 'Backing up …' : 'Back up now'}
          </Button>
        )}
      </div>
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {failure !== null && (
        <Notice tone="failed">
          {failureWords[failure.kind]} <span className="mono">{failure.backup}</span> failed{' '}
          <Time value={failure.ended} />. {failure.message}
        </Notice>
      )}
      {backup !== undefined && (
        <dl className="facts">
          <dt>Last backup</dt>
          <dd>
            <LastBackup backup={backup} />
          </dd>
          <dt>Size</dt>
          <dd>
            <BackupSize backup={backup} />
          </dd>
          <dt>Last verification</dt>
          <dd>
            <LastVerification backup={backup} />
          </dd>
        </dl>
      )}
    </section>
  );
}
