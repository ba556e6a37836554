import { useQuery } from '@tanstack/react-query';
import Archive from 'lucide-react/icons/archive';
import { instanceBackupQuery } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { JobFailure } from '../../parts/backup-words.tsx';
import { Button } from '../../parts/button.tsx';
import { Facts } from '../../parts/facts.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Section } from '../../parts/section.tsx';
import { BackupSize, LastBackup, LastVerification } from './backup-cells.tsx';
import { useBackUp } from './use-back-up.ts';

/** The last backup of an instance, and why the last job failed. */
export function InstanceBackups({ id }: { readonly id: string }) {
  const { data: backup, error, refetch } = useQuery(instanceBackupQuery(id));
  const { isRunning, start } = useBackUp();
  const failure = backup?.failure ?? null;
  const isBusy = isRunning || (backup?.running ?? null) !== null;
  return (
    <Section
      title="Backups"
      actions={
        mayOperate('instances:write') && (
          <Button icon={Archive} disabled={isBusy} onClick={() => start(id)}>
            {isRunning ? 'Backing up …' : 'Back up now'}
          </Button>
        )
      }
    >
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {failure !== null && <JobFailure job={failure} />}
      {backup !== undefined && (
        <Facts
          items={{
            'Last backup': <LastBackup backup={backup} />,
            Size: <BackupSize backup={backup} />,
            'Last verification': <LastVerification backup={backup} />,
          }}
        />
      )}
    </Section>
  );
}
