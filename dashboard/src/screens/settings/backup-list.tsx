import { useQueryClient } from '@tanstack/react-query';
import Download from 'lucide-react/icons/download';
import ShieldCheck from 'lucide-react/icons/shield-check';
import Trash2 from 'lucide-react/icons/trash-2';
import { useState } from 'react';
import { type Backup, backupsKey, type BackupStatus, downloadUrl } from '../../api/backups.ts';
import { call } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { byteSize } from '../../parts/byte-size.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { messageOf } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import type { BackupJobs } from './use-backup-jobs.ts';

interface BackupListProps {
  readonly backups: readonly Backup[];
  readonly jobs: BackupJobs;
}

interface Choice {
  readonly kind: 'restore' | 'delete';
  readonly name: string;
}

/** The stored backups, and what can be done with each. */
export function BackupList({ backups, jobs }: BackupListProps) {
  const [choice, setChoice] = useState<Choice>();
  const close = (): void => setChoice(undefined);
  return (
    <>
      <ul className="panel settings-list">
        {backups.map((backup) => (
          <BackupRow key={backup.key} backup={backup} jobs={jobs} onChoose={setChoice} />
        ))}
      </ul>
      {choice?.kind === 'restore' && <ConfirmRestore name={choice.name} jobs={jobs} onClose={close} />}
      {choice?.kind === 'delete' && <ConfirmDelete name={choice.name} onClose={close} />}
    </>
  );
}

interface BackupRowProps {
  readonly backup: Backup;
  readonly jobs: BackupJobs;
  readonly onChoose: (choice: Choice) => void;
}

function BackupRow({ backup: { key: name, size, modified }, jobs, onChoose }: BackupRowProps) {
  const isBusy = jobs.running !== undefined;
  // Keys get no token for a link, which a download by the browser needs.
  const hasDownload = useSession()?.key === undefined;
  return (
    <li className="settings-row">
      <span className="settings-row-main">
        <span className="settings-row-title wrap">{name}</span>
        <span className="soft settings-row-note">
          <Time value={modified} />
          <span>{byteSize(size)}</span>
          {name.startsWith('@auto_') && <span>by the schedule</span>}
          <Verified name={name} status={jobs.status} />
        </span>
      </span>
      <span className="settings-actions">
        {hasDownload && (
          <IconButton label={`Download ${name}`} onClick={() => void download(name)}>
            <Download size={15} aria-hidden />
          </IconButton>
        )}
        <IconButton
          label={`Verify ${name}`}
          disabled={isBusy}
          onClick={() => void jobs.start({ kind: 'verify', backup: name })}
        >
          <ShieldCheck size={15} aria-hidden />
        </IconButton>
        <IconButton
          label={`Delete ${name}`}
          disabled={isBusy}
          onClick={() => onChoose({ kind: 'delete', name })}
        >
          <Trash2 size={15} aria-hidden />
        </IconButton>
        <Button
          aria-label={`Restore ${name}`}
          disabled={isBusy}
          onClick={() => onChoose({ kind: 'restore', name })}
        >
          Restore …
        </Button>
      </span>
    </li>
  );
}

function Verified({ name, status }: { readonly name: string; readonly status: BackupStatus | undefined }) {
  const verification = status?.lastVerification ?? null;
  if (verification === null || verification.byOperator || verification.backup !== name) return null;
  return (
    <span>
      verified <Time value={verification.ended} />
    </span>
  );
}

async function download(name: string): Promise<void> {
  try {
    const link = document.createElement('a');
    link.href = await downloadUrl(name);
    link.download = name;
    link.click();
  } catch (error) {
    showToast(messageOf(error), 'failed');
  }
}

interface ConfirmRestoreProps {
  readonly name: string;
  readonly jobs: BackupJobs;
  readonly onClose: () => void;
}

function ConfirmRestore({ name, jobs, onClose }: ConfirmRestoreProps) {
  return (
    <Confirm
      title={`Restore ${name}?`}
      action="Restore the instance"
      typed={name}
      onClose={onClose}
      onConfirm={async () => {
        // It shows its progress on the page, where it can also fail.
        void jobs.start({ kind: 'restore', backup: name });
        await Promise.resolve();
      }}
    >
      Everything that changed after this backup is lost, and requests get a 503 for some seconds. For a day,
      the operator can still bring back the replaced instance.
    </Confirm>
  );
}

function ConfirmDelete({ name, onClose }: Omit<ConfirmRestoreProps, 'jobs'>) {
  const queries = useQueryClient();
  return (
    <Confirm
      title={`Delete ${name}?`}
      action="Delete the backup"
      typed={name}
      onClose={onClose}
      onConfirm={async () => {
        await call('DELETE /api/backups/{key}', { path: { key: name } });
        showToast(`${name} is deleted.`);
        await queries.invalidateQueries({ queryKey: backupsKey });
      }}
    >
      A deleted backup cannot be brought back.
    </Confirm>
  );
}
