import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import SearchX from 'lucide-react/icons/search-x';
import { Failure } from '../../api/client.ts';
import { isExpression } from '../../api/expressions.ts';
import { type InstanceRow, instancesQuery } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useFilterText } from '../../parts/use-filter-text.ts';
import { bytesText } from './instance-values.ts';
import { LabelChips } from './label-chips.tsx';
import type { OperatorSearch } from './operator-search.ts';
import { StateBadge, stateTexts } from './state-badge.tsx';

const route = getRouteApi('/operator/$section');

/** The instances of the filter, with what each has used in the last day. */
export function InstanceList() {
  const { find = '', state = '', sort = 'slug' } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useInfiniteQuery({
    ...instancesQuery({ find, state, sort }),
    placeholderData: keepPreviousData,
    enabled: mayOperate('instances:read'),
  });
  const set = (change: OperatorSearch): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const rows = list.data?.pages.flat();
  const refusal = list.error instanceof Failure && list.error.status === 400 ? list.error : undefined;
  return (
    <div className="webhooks">
      <search className="event-filters" aria-label="Filter instances">
        <FindInput find={find} error={refusal?.message} onFind={(text) => set({ find: text })} />
        <select
          className="input"
          aria-label="State"
          value={state}
          onChange={(event) => set({ state: event.target.value })}
        >
          <option value="">All but deleted</option>
          {Object.entries(stateTexts).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </search>
      {list.isError && (
        <div className="operator-notices">
          <FailureNotice
            error={list.error}
            message={refusal && toOwnPosition(refusal.message)}
            onRetry={refusal === undefined ? () => void list.refetch() : undefined}
          />
        </div>
      )}
      {rows?.length === 0 && !list.isError && <NoInstance onReset={() => set({ find: '', state: '' })} />}
      {rows?.length !== 0 && !list.isError && (
        <div className="webhooks-scroll" tabIndex={-1}>
          <Table
            caption="Instances"
            columns={
              mayOperate('usage:read') ? [...columns, ...usageColumns, created] : [...columns, created]
            }
            rows={rows}
            keyOf={({ instance }) => instance.id}
            sort={sort}
            onSort={(next) => set({ sort: next })}
          />
          <MoreRows
            label="Show more instances"
            isShown={list.hasNextPage}
            isBusy={list.isFetchingNextPage}
            onMore={() => void list.fetchNextPage()}
          />
        </div>
      )}
    </div>
  );
}

/** Counts the position of an error from the beginning of what was typed: the filter that is sent has a parenthesis before it. */
function toOwnPosition(message: string): string {
  return message.replace(/\bat position (\d+)/, (_, digits: string) => `at position ${Number(digits) - 1}`);
}

interface FindInputProps {
  readonly find: string;
  readonly error: string | undefined;
  readonly onFind: (find: string) => void;
}

/** Looks for a word while it is typed; an expression waits for Enter. */
function FindInput({ find, error, onFind }: FindInputProps) {
  const [text, setText] = useFilterText({
    filter: find,
    isExpression,
    onFilter: onFind,
  });
  return (
    <input
      className="input operator-find"
      data-filter
      aria-label="Find instances"
      aria-invalid={error !== undefined}
      placeholder="Slug, host or id, or labels.plan = 'pro'"
      value={text}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onFind(text.trim());
      }}
    />
  );
}

const columns: readonly Column<InstanceRow>[] = [
  {
    label: 'Slug',
    kind: 'main',
    sort: 'slug',
    cell: ({ instance: { id, slug, host } }) => (
      <>
        <Link className="table-link cut" to="/operator/instances/$instance" params={{ instance: id }}>
          {slug}
        </Link>
        {host !== null && <span className="faint small cut">{host}</span>}
      </>
    ),
  },
  { label: 'State', sort: 'state', cell: ({ instance: { state } }) => <StateBadge state={state} /> },
  { label: 'Labels', cell: ({ instance: { labels } }) => <LabelChips labels={labels} max={3} /> },
];

const usageColumns: readonly Column<InstanceRow>[] = [
  {
    label: 'Requests, 24 h',
    kind: 'number',
    cell: ({ usage }) => (usage?.requests ?? 0).toLocaleString('en'),
  },
  { label: 'Records', kind: 'number', cell: ({ usage }) => usage?.records?.toLocaleString('en') ?? '–' },
  {
    label: 'Data',
    kind: 'number',
    cell: ({ usage }) => (typeof usage?.dataBytes === 'number' ? bytesText(usage.dataBytes) : '–'),
  },
];

const created: Column<InstanceRow> = {
  label: 'Created',
  sort: 'created',
  cell: ({ instance }) => (
    <span className="soft">
      <Time value={instance.created} />
    </span>
  ),
};

function NoInstance({ onReset }: { readonly onReset: () => void }) {
  return (
    <Empty
      icon={<SearchX size={24} strokeWidth={1.5} aria-hidden />}
      title="No instance matches"
      actions={<Button onClick={onReset}>Show all</Button>}
    >
      Deleted instances show under their state.
    </Empty>
  );
}
