import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Pause from 'lucide-react/icons/pause';
import Play from 'lucide-react/icons/play';
import SearchX from 'lucide-react/icons/search-x';
import { Failure } from '../../api/client.ts';
import { choicesOf } from '../../api/members-of.ts';
import { type InstanceRow, instancesQuery, operatorKeys, takeStep } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { Button } from '../../parts/button.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import { pagesOf } from '../../parts/data-table/pages-of.ts';
import { RowAction } from '../../parts/data-table/row-action.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { timeColumn } from '../../parts/data-table/time-column.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ExpressionInput } from '../../parts/expression-input.tsx';
import { plural } from '../../parts/time.tsx';
import { bytesText } from './instance-values.ts';
import { LabelChips } from './label-chips.tsx';
import { useSectionSearch } from './operator-page.tsx';
import { StateBadge, stateTexts } from './state-badge.tsx';

/** The instances of the filter, with what each has used in the last day. */
export function InstanceList() {
  const [{ find = '', state = '', sort = 'slug' }, set] = useSectionSearch();
  const list = useInfiniteQuery({
    ...instancesQuery({ find, state, sort }),
    placeholderData: keepPreviousData,
    enabled: mayOperate('instances:read'),
  });
  const refusal = list.error instanceof Failure && list.error.status === 400 ? list.error : undefined;
  return (
    <DataTable
      name="instances"
      label="Instances"
      countOf={(count) => plural(count, 'instance')}
      columns={mayOperate('usage:read') ? columnsWithUsage : columns}
      {...pagesOf(list)}
      // An error of the filter stands at the filter.
      rows={refusal === undefined ? list.data?.pages.flat() : []}
      error={refusal === undefined ? list.error : null}
      sort={sort}
      onSort={(next) => set({ sort: next })}
      filters={
        <search aria-label="Filter instances">
          <div className="data-expression">
            <ExpressionInput
              label="Find instances"
              placeholder="Slug, host or id, or labels.plan = 'pro'"
              filter={find}
              onFilter={(text) => set({ find: text })}
              error={refusal?.message}
            />
          </div>
          <Combobox
            label="State"
            none="All but deleted"
            value={state}
            choices={choicesOf(stateTexts)}
            onChange={(next) => set({ state: next })}
          />
        </search>
      }
      empty={
        refusal === undefined && (
          <Empty
            icon={SearchX}
            title="No instance matches"
            actions={<Button onClick={() => set({ find: '', state: '' })}>Show all</Button>}
          >
            Deleted instances show under their state.
          </Empty>
        )
      }
      scope={JSON.stringify([find, state])}
      {...(mayOperate('instances:write') && {
        renderBulk: (rows: readonly InstanceRow[], clear: () => void) => (
          <BulkActions rows={rows} onDone={clear} />
        ),
      })}
    />
  );
}

interface BulkActionsProps {
  readonly rows: readonly InstanceRow[];
  readonly onDone: () => void;
}

function BulkActions({ rows, onDone }: BulkActionsProps) {
  const queries = useQueryClient();
  const refresh = async (): Promise<void> => queries.invalidateQueries({ queryKey: operatorKeys.all });
  const active = rows.filter(({ instance }) => instance.state === 'active');
  const suspended = rows.filter(({ instance }) => instance.state === 'suspended');
  return (
    <>
      <RowAction
        verb="Suspend"
        done="suspended"
        icon={Pause}
        rows={active}
        what={plural(active.length, 'instance')}
        work={async ({ id }) => takeStep(id, 'suspend')}
        refresh={refresh}
        onDone={onDone}
      >
        Every request gets a 403 and webhooks wait until you resume them.
      </RowAction>
      <RowAction
        verb="Resume"
        done="resumed"
        icon={Play}
        rows={suspended}
        what={plural(suspended.length, 'instance')}
        work={async ({ id }) => takeStep(id, 'resume')}
        refresh={refresh}
        onDone={onDone}
      >
        They answer again, and their queued webhooks are sent.
      </RowAction>
    </>
  );
}

const named: readonly DataColumn<InstanceRow>[] = [
  {
    id: 'slug',
    label: 'Slug',
    size: 200,
    kind: 'main',
    sort: 'service',
    cell: ({ instance: { id, slug, host } }) => (
      <>
        <Link className="table-link cut" to="/operator/instances/$instance" params={{ instance: id }}>
          {slug}
        </Link>
        {host !== null && <span className="faint small cut">{host}</span>}
      </>
    ),
  },
  {
    id: 'state',
    label: 'State',
    size: 120,
    sort: 'service',
    cell: ({ instance: { state } }) => <StateBadge state={state} />,
  },
  {
    id: 'labels',
    label: 'Labels',
    size: 180,
    cell: ({ instance: { labels } }) => <LabelChips labels={labels} max={3} />,
  },
];

const usage: readonly DataColumn<InstanceRow>[] = [
  {
    id: 'requests',
    label: 'Requests, 24 h',
    size: 124,
    kind: 'number',
    cell: (row) => (row.usage?.requests ?? 0).toLocaleString(),
  },
  {
    id: 'records',
    label: 'Records',
    size: 90,
    kind: 'number',
    cell: (row) => row.usage?.records?.toLocaleString() ?? '–',
  },
  {
    id: 'data',
    label: 'Data',
    size: 90,
    kind: 'number',
    cell: (row) => (typeof row.usage?.dataBytes === 'number' ? bytesText(row.usage.dataBytes) : '–'),
  },
];

const created: DataColumn<InstanceRow> = {
  ...timeColumn,
  label: 'Created',
  sort: 'service',
  cell: ({ instance }) => timeColumn.cell(instance),
};

const columns = [...named, created];
const columnsWithUsage = [...named, ...usage, created];
