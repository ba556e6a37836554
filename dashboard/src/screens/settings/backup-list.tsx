import { useQueryClient } from '@tanstack/react-query';
import Archive from 'lucide-react/icons/archive';
import Download from 'lucide-react/icons/download';
import ShieldCheck from 'lucide-react/icons/shield-check';
import Trash2 from 'lucide-react/icons/trash-2';
import { useMemo } from 'react';
import { type Backup, backupsKey, downloadUrl } from '../../api/backups.ts';
import { apiUrl, call } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { useToastedAttempt } from '../../parts/attempt-form.tsx';
import { byteSize } from '../../parts/byte-size.ts';
import { IconButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { RowAction } from '../../parts/data-table/row-action.tsx';
import { FindTable } from '../../parts/data-table/find-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Empty } from '../../parts/empty.tsx';
import { plural, Time, timeWidth } from '../../parts/time.tsx';
import { useSectionSearch } from './settings-form.tsx';
import type { BackupJobs } from './use-backup-jobs.ts';

interface BackupListProps {
  /** Undefined as long as they are on their way. */
  readonly backups: readonly Backup[] | undefined;
  readonly error: unknown;
  readonly onRetry: () => void;
  readonly jobs: BackupJobs;
}

/** A backup as a row: its key is its name. */
interface BackupRow extends Backup {
  readonly id: string;
}

/** The stored backups, and what can be done with each. */
export function BackupList({ backups, error, onRetry, jobs }: BackupListProps) {
  const [{ find = '', sort = '-modified' }, set] = useSectionSearch();
  // Only of these: the answers of the jobs come every second while one runs.
  const isBusy = jobs.running !== undefined;
  const verification = jobs.status?.lastVerification ?? null;
  const verified = verification === null || verification.byOperator ? undefined : verification;
  const { backup: verifiedBackup, ended: verifiedAt } = verified ?? { backup: '', ended: '' };
  const columns = useMemo(
    () => columnsOf((name) => (name === verifiedBackup ? verifiedAt : '')),
    [verifiedBackup, verifiedAt],
  );
  return (
    <FindTable
      name="backups"
      label="Backups"
      countOf={(count) => plural(count, 'backup')}
      columns={[...columns, actionsOf({ isBusy, jobs })]}
      rows={backups?.map((backup) => ({ ...backup, id: backup.key }))}
      error={error}
      onRetry={onRetry}
      sort={sort}
      onSort={(next) => set({ sort: next })}
      find={{
        text: find,
        label: 'Find a backup',
        placeholder: 'Find by name',
        textsOf: ({ key }) => [key],
        onFind: (next) => set({ find: next }),
      }}
      none={
        <Empty
          icon={Archive}
          title="No backups yet"
          code={`curl -X POST ${apiUrl}/api/backups \\\n  -H "Authorization: $TOKEN"`}
        >
          A backup holds all records, files, accounts, keys and webhooks of this instance at one moment.
        </Empty>
      }
      renderBulk={(rows, clear) => <DeleteBackups rows={rows} isDisabled={isBusy} onDone={clear} />}
    />
  );
}

function columnsOf(verifiedAt: (name: string) => string): readonly DataColumn<BackupRow>[] {
  return [
    {
      id: 'name',
      label: 'Backup',
      size: 240,
      kind: 'main',
      sort: ({ key }) => key,
      cell: ({ key }) => (
        <>
          <span className="cut" title={key}>
            {key}
          </span>
          {key.startsWith('@auto_') && <span className="faint small">by the schedule </span>}
          {verifiedAt(key) !== '' && (
            <span className="faint small">
              verified <Time value={verifiedAt(key)} />
            </span>
          )}
        </>
      ),
    },
    {
      id: 'size',
      label: 'Size',
      size: 80,
      kind: 'number',
      sort: ({ size }) => size,
      cell: ({ size }) => byteSize(size),
    },
    {
      id: 'modified',
      label: 'Created',
      size: timeWidth,
      kind: 'number',
      sort: ({ modified }) => modified,
      cell: ({ modified }) => <Time value={modified} />,
    },
  ];
}

interface ActionsProps {
  readonly isBusy: boolean;
  readonly jobs: BackupJobs;
}

function actionsOf(props: ActionsProps): DataColumn<BackupRow> {
  return {
    id: 'actions',
    label: 'Actions',
    size: 230,
    kind: 'number',
    cell: ({ key }) => <BackupActions name={key} {...props} />,
  };
}

function BackupActions({ name, isBusy, jobs }: ActionsProps & { readonly name: string }) {
  const { attempt } = useToastedAttempt();
  // Keys get no token for a link, which a download by the browser needs.
  const hasDownload = useSession()?.key === undefined;
  return (
    <span className="data-actions">
      {hasDownload && (
        <IconButton
          icon={Download}
          small
          label={`Download ${name}`}
          onClick={() => attempt(async () => download(name))}
        />
      )}
      <IconButton
        icon={ShieldCheck}
        small
        label={`Verify ${name}`}
        disabled={isBusy}
        onClick={() => void jobs.start({ kind: 'verify', backup: name })}
      />
      <DeleteBackups rows={[{ key: name }]} isDisabled={isBusy} isSmall />
      <ConfirmButton
        label="Restore …"
        button={{ 'aria-label': `Restore ${name}`, disabled: isBusy }}
        title={`Restore ${name}?`}
        action="Restore the instance"
        typed={name}
        onConfirm={async () => {
          // It shows its progress on the page, where it can also fail.
          void jobs.start({ kind: 'restore', backup: name });
          await Promise.resolve();
        }}
      >
        Changes made after this backup are lost. Requests get a 503 for a few seconds. For a day, the operator
        can still bring back the replaced instance.
      </ConfirmButton>
    </span>
  );
}

async function download(name: string): Promise<void> {
  const link = document.createElement('a');
  link.href = await downloadUrl(name);
  link.download = name;
  link.click();
}

interface DeleteBackupsProps {
  readonly rows: readonly Pick<Backup, 'key'>[];
  readonly isDisabled: boolean;
  readonly isSmall?: boolean;
  readonly onDone?: () => void;
}

function DeleteBackups({ rows, isDisabled, isSmall = false, onDone }: DeleteBackupsProps) {
  const queries = useQueryClient();
  const [backup] = rows;
  return (
    <RowAction
      verb="Delete"
      done="deleted"
      icon={Trash2}
      rows={rows}
      what={rows.length === 1 && backup !== undefined ? backup.key : plural(rows.length, 'backup')}
      isFinal
      isDisabled={isDisabled}
      isSmall={isSmall}
      work={async ({ key }) => call('DELETE /api/backups/{key}', { path: { key } })}
      refresh={async () => queries.invalidateQueries({ queryKey: backupsKey })}
      onDone={onDone}
    >
      A deleted backup cannot be restored.
    </RowAction>
  );
}
