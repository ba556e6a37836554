import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import Archive from 'lucide-react/icons/archive';
import { useState } from 'react';
import { backupsOfAllQuery, type InstanceBackup } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { IconButton } from '../../parts/button.tsx';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { ageOf } from '../../parts/percent.ts';
import { type Column, Table } from '../../parts/table.tsx';
import { plural, Time } from '../../parts/time.tsx';
import { BackupFailure, BackupSize, LastBackup, LastVerification } from './backup-cells.tsx';
import { OperatorPage } from './operator-page.tsx';
import { useBackUp } from './use-back-up.ts';

const route = getRouteApi('/operator/$section');

/** The backups of all instances, those first that need somebody. */
export function BackupsScreen() {
  return (
    <OperatorPage title="Backups" scope="instances:read">
      <BackupsOfAll />
    </OperatorPage>
  );
}

const pageSize = 60;

function BackupsOfAll() {
  const { find = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch } = useQuery(backupsOfAllQuery);
  const [count, setCount] = useState(pageSize);
  const rows = data?.items.filter(({ slug }) => slug.includes(find.trim().toLowerCase()));
  return (
    <div className="webhooks">
      <search className="event-filters" aria-label="Filter backups">
        <input
          className="input operator-find"
          data-filter
          aria-label="Find an instance"
          placeholder="Find by slug"
          value={find}
          onChange={(event) => void navigate({ search: { find: event.target.value }, replace: true })}
        />
      </search>
      <div className="webhooks-scroll" tabIndex={-1}>
        <div className="operator-notices">
          {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
          {data !== undefined && <Schedule cron={data.cron} next={data.next} items={data.items} />}
        </div>
        {error === null && (
          <Table
            caption="Backups"
            columns={mayOperate('instances:write') ? [...columns, action] : columns}
            rows={rows?.slice(0, count)}
            keyOf={({ instance }) => instance}
          />
        )}
        <MoreRows
          label="Show more instances"
          isShown={(rows?.length ?? 0) > count}
          isBusy={false}
          onMore={() => setCount(count + pageSize)}
        />
      </div>
    </div>
  );
}

interface ScheduleProps {
  readonly cron: string;
  readonly next: string;
  readonly items: readonly InstanceBackup[];
}

function Schedule({ cron, next, items }: ScheduleProps) {
  const overdue = items.filter(({ isOverdue }) => isOverdue).length;
  return (
    <>
      {cron === '' ? (
        <Notice>
          No schedule. Start the server with <span className="mono">--backup-cron</span> and{' '}
          <span className="mono">--backup-to</span>.
        </Notice>
      ) : (
        <dl className="facts">
          <dt>Schedule</dt>
          <dd>
            <span className="mono">{cron}</span> UTC
          </dd>
          <dt>Next run</dt>
          <dd>
            <Time value={next} />
          </dd>
        </dl>
      )}
      {overdue > 0 && <Notice tone="retrying">{plural(overdue, 'instance')} overdue</Notice>}
    </>
  );
}

const columns: readonly Column<InstanceBackup>[] = [
  {
    label: 'Instance',
    kind: 'main',
    cell: ({ instance, slug }) => (
      <Link className="link cut" to="/operator/instances/$instance" params={{ instance }}>
        {slug}
      </Link>
    ),
  },
  { label: 'Last backup', cell: (backup) => <LastBackup backup={backup} /> },
  { label: 'Age', kind: 'number', cell: ({ lastBackup }) => ageOf(lastBackup?.ended ?? '') },
  { label: 'Size', kind: 'number', cell: (backup) => <BackupSize backup={backup} /> },
  { label: 'Last verification', cell: (backup) => <LastVerification backup={backup} /> },
  { label: 'Failure', kind: 'wide', cell: (backup) => <BackupFailure backup={backup} /> },
];

const action: Column<InstanceBackup> = {
  label: 'Action',
  kind: 'number',
  cell: (backup) => <BackUpButton backup={backup} />,
};

function BackUpButton({ backup }: { readonly backup: InstanceBackup }) {
  const { instance, slug, running } = backup;
  const { isRunning, start } = useBackUp();
  return (
    <IconButton
      label={`Back up ${slug} now`}
      disabled={isRunning || running !== null}
      onClick={() => void start(instance)}
    >
      <Archive size={15} aria-hidden />
    </IconButton>
  );
}
