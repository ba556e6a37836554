import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Archive from 'lucide-react/icons/archive';
import { backUp, backupsOfAllQuery, type InstanceBackup, operatorKeys } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { IconButton } from '../../parts/button.tsx';
import { RowAction } from '../../parts/data-table/row-action.tsx';
import { FindTable } from '../../parts/data-table/find-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Facts } from '../../parts/facts.tsx';
import { Notice } from '../../parts/notice.tsx';
import { ageOf } from '../../parts/percent.ts';
import { plural, Time, timeWidth } from '../../parts/time.tsx';
import { BackupFailure, BackupSize, LastBackup, LastVerification } from './backup-cells.tsx';
import { useSectionSearch } from './operator-page.tsx';
import { useBackUp } from './use-back-up.ts';

/** A row of the table: one for each instance. */
interface BackupRow extends InstanceBackup {
  readonly id: string;
}

/** The backups of all instances, those first that need somebody. */
export function BackupsOfAll() {
  const [{ find = '', sort = '' }, set] = useSectionSearch();
  const { data, error, refetch } = useQuery(backupsOfAllQuery);
  return (
    <>
      {data !== undefined && (
        <div className="operator-notices">
          <Schedule cron={data.cron} next={data.next} items={data.items} />
        </div>
      )}
      <FindTable
        name="operator-backups"
        label="Backups"
        countOf={(count) => plural(count, 'instance')}
        columns={mayOperate('instances:write') ? columnsWithAction : columns}
        rows={data?.items.map((backup) => ({ ...backup, id: backup.instance }))}
        error={error}
        onRetry={() => void refetch()}
        sort={sort}
        onSort={(next) => set({ sort: next })}
        find={{
          text: find,
          label: 'Find an instance',
          placeholder: 'Find by slug',
          textsOf: ({ slug }) => [slug],
          onFind: (text) => set({ find: text }),
        }}
        {...(mayOperate('instances:write') && {
          renderBulk: (rows: readonly BackupRow[], clear: () => void) => (
            <BackUpAll rows={rows} onDone={clear} />
          ),
        })}
      />
    </>
  );
}

function BackUpAll({ rows, onDone }: { readonly rows: readonly BackupRow[]; readonly onDone: () => void }) {
  const queries = useQueryClient();
  const idle = rows.filter(({ running }) => running === null);
  return (
    <RowAction
      verb="Back up"
      done="backed up"
      icon={Archive}
      rows={idle}
      what={plural(idle.length, 'instance')}
      work={async ({ id }) => backUp(id)}
      refresh={async () => queries.invalidateQueries({ queryKey: operatorKeys.backups })}
      onDone={onDone}
    >
      One after the other, while this page is open.
    </RowAction>
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
        <Facts
          items={{
            Schedule: (
              <>
                <span className="mono">{cron}</span> UTC
              </>
            ),
            'Next run': <Time value={next} />,
          }}
        />
      )}
      {overdue > 0 && <Notice tone="retrying">{plural(overdue, 'instance')} overdue</Notice>}
    </>
  );
}

const endOf = ({ lastBackup }: InstanceBackup): string => lastBackup?.ended ?? '';

const columns: readonly DataColumn<BackupRow>[] = [
  {
    id: 'instance',
    label: 'Instance',
    size: 170,
    kind: 'main',
    sort: ({ slug }) => slug,
    cell: ({ instance, slug }) => (
      <Link className="link cut" to="/operator/instances/$instance" params={{ instance }}>
        {slug}
      </Link>
    ),
  },
  {
    id: 'last',
    label: 'Last backup',
    size: 190,
    kind: 'wide',
    sort: endOf,
    cell: (backup) => <LastBackup backup={backup} />,
  },
  { id: 'age', label: 'Age', size: 108, kind: 'number', cell: (backup) => ageOf(endOf(backup)) },
  {
    id: 'size',
    label: 'Size',
    size: 84,
    kind: 'number',
    sort: ({ lastBackup }) => lastBackup?.bytes ?? 0,
    cell: (backup) => <BackupSize backup={backup} />,
  },
  {
    id: 'verification',
    label: 'Last verification',
    size: timeWidth,
    kind: 'number',
    sort: ({ lastVerification }) => lastVerification?.ended ?? '',
    cell: (backup) => <LastVerification backup={backup} />,
  },
  {
    id: 'failure',
    label: 'Failure',
    size: 200,
    kind: 'wide',
    sort: ({ failure }) => failure?.ended ?? '',
    cell: (backup) => <BackupFailure backup={backup} />,
  },
];

const columnsWithAction: readonly DataColumn<BackupRow>[] = [
  ...columns,
  {
    id: 'actions',
    label: 'Actions',
    size: 84,
    kind: 'number',
    cell: (backup) => <BackUpButton backup={backup} />,
  },
];

function BackUpButton({ backup: { instance, slug, running } }: { readonly backup: InstanceBackup }) {
  const { isRunning, start } = useBackUp();
  return (
    <IconButton
      icon={Archive}
      label={`Back up ${slug} now`}
      disabled={isRunning || running !== null}
      onClick={() => start(instance)}
    />
  );
}
