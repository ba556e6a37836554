import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import CirclePause from 'lucide-react/icons/circle-pause';
import CirclePlay from 'lucide-react/icons/circle-play';
import RefreshCw from 'lucide-react/icons/refresh-cw';
import ScrollText from 'lucide-react/icons/scroll-text';
import { useMemo, useState } from 'react';
import { apiUrl, Failure } from '../../api/client.ts';
import {
  liveLogsMax,
  liveLogsQuery,
  type Log,
  logCountQuery,
  logFilter,
  logHoursQuery,
  logsQuery,
} from '../../api/logs.ts';
import { useKeys } from '../../browser/keys.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button, IconButton } from '../../parts/button.tsx';
import { CopyRows } from '../../parts/data-table/copy-rows.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import { pagesOf } from '../../parts/data-table/pages-of.ts';
import { Empty, LinkButton } from '../../parts/empty.tsx';
import { ExpressionInput } from '../../parts/expression-input.tsx';
import { plural } from '../../parts/time.tsx';
import { logColumns } from './log-columns.tsx';
import { LogDrawer } from './log-drawer.tsx';
import { LogPlot } from './log-plot.tsx';
import {
  decodeLogSearch,
  defaultSort,
  type LogChange,
  type LogSearch,
  timeText,
  toTimeRange,
} from './log-search.ts';
import { LogToolbar } from './log-toolbar.tsx';

const route = getRouteApi('/shell/logs');

/** The requests to the instance, by whom they were sent, and how they ended. */
export function LogsScreen() {
  const { search, change } = useAddress();
  const { filter = '', log, live, sort = defaultSort } = search;
  const view = useLogs(search);
  const { list, refusal } = view;
  const isOpen = log !== undefined;
  const columns = useMemo(() => logColumns(isOpen), [isOpen]);
  // What is live comes at the top.
  const setLive = (): void =>
    change(live === 'yes' ? { live: undefined } : { live: 'yes', sort: undefined }, true);
  useKeys({ l: setLive });
  return (
    <>
      <Bar title="Logs">
        <Button
          icon={live === 'yes' ? CirclePause : CirclePlay}
          onClick={setLive}
          aria-pressed={live === 'yes'}
        >
          {live === 'yes' ? 'Stop' : 'Live'}
        </Button>
        <IconButton icon={RefreshCw} label="Refresh" onClick={view.refresh} />
      </Bar>
      <div className="records" data-drawer={isOpen ? '' : undefined}>
        <DataTable
          name="logs"
          label="Requests"
          countOf={(count) => plural(count, 'request')}
          columns={columns}
          {...pagesOf(list)}
          // An error of the filter stands at the filter.
          rows={refusal === undefined ? view.logs : []}
          error={refusal === undefined ? list.error : null}
          sort={sort}
          onSort={(next) => change({ sort: sortOf(next), live: undefined }, true)}
          filters={
            <search className="log-filter">
              <ExpressionInput
                label="Filter requests"
                placeholder="A word, or an expression: data.status = 404 && data.execTime > 100"
                filter={filter}
                onFilter={(next) => change({ filter: next }, true)}
                error={refusal}
              />
              <LogToolbar search={search} onChange={change} />
            </search>
          }
          plot={
            <LogPlot
              hours={view.hours}
              range={view.range}
              onChoose={(from, to) => change({ from: timeText(from), to: timeText(to), live: undefined })}
            />
          }
          note={<LogNote search={search} view={view} onChange={change} />}
          empty={refusal === undefined && <NoLogs search={search} onChange={change} />}
          open={{ id: log, onOpen: (id) => change({ log: id }, true) }}
          scope={view.expression}
          renderBulk={(rows) => <CopyRows rows={rows} />}
        />
        {isOpen && <LogDrawer key={log} id={log} onClose={() => change({ log: undefined })} />}
      </div>
    </>
  );
}

function useAddress() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: LogChange, replace = false): void =>
    void navigate({ search: (before) => decodeLogSearch({ ...before, ...next }), replace });
  return { search, change };
}

/** What the list can be sorted by; undefined for anything else. */
function sortOf(sort: string): LogSearch['sort'] {
  return decodeLogSearch({ sort }).sort;
}

type LogView = ReturnType<typeof useLogs>;

/** The entries up to a moment, those since then while it is live, and how many there are by hour. */
function useLogs(search: LogSearch) {
  const [now, setNow] = useState(() => new Date());
  const range = toTimeRange(search, now);
  const { filter: text = '', level, sort = defaultSort } = search;
  const isLive = search.live === 'yes' && range.isOpen;
  const selection = { text, level, dashboard: search.dashboard === 'yes' ? 'shown' : 'hidden' } as const;
  const expression = logFilter({ ...selection, from: range.from, to: range.to });
  const list = useInfiniteQuery({ ...logsQuery(expression, sort), placeholderData: keepPreviousData });
  const refusal = list.error instanceof Failure && list.error.status === 400 ? list.error.message : undefined;
  const hours = useQuery({
    ...logHoursQuery(expression),
    placeholderData: keepPreviousData,
    enabled: refusal === undefined,
  });
  const live = useQuery({
    ...liveLogsQuery(logFilter({ ...selection, from: now, to: farFuture })),
    enabled: isLive && refusal === undefined,
  });
  const hidden = useQuery({
    ...logCountQuery(logFilter({ ...selection, dashboard: 'only', from: range.from, to: range.to })),
    placeholderData: keepPreviousData,
    // What is refused or failed is never hidden.
    enabled: selection.dashboard === 'hidden' && level === undefined && refusal === undefined,
  });
  const newer = isLive ? (live.data ?? []) : [];
  const older = list.data?.pages.flat();
  return {
    logs: newer.length === 0 ? older : withoutRepetition([...newer, ...(older ?? [])]),
    isLiveFull: newer.length >= liveLogsMax,
    /** How many requests of the dashboard the list leaves out. */
    hiddenCount: level === undefined ? (hidden.data ?? 0) : 0,
    expression,
    range,
    refusal,
    hours: hours.data,
    list,
    refresh: () => setNow(new Date()),
  };
}

const farFuture = new Date('2999-01-01T00:00:00Z');

function withoutRepetition(logs: readonly Log[]): readonly Log[] {
  return [...new Map(logs.map((log) => [log.id, log])).values()];
}

interface OfLogs {
  readonly search: LogSearch;
  readonly onChange: (next: LogChange, replace?: boolean) => void;
}

/** Which requests the list leaves out. */
function LogNote({ search, view, onChange }: OfLogs & { readonly view: LogView }) {
  const { hiddenCount, isLiveFull } = view;
  const isShown = search.dashboard === 'yes';
  return (
    <>
      {isLiveFull && <span>The latest {liveLogsMax} since it began are shown. Refresh to see them all.</span>}
      {(isShown || hiddenCount > 0) && (
        <span>
          {isShown
            ? 'Dashboard requests are shown'
            : `${plural(hiddenCount, 'request')} of the dashboard hidden`}{' '}
          ·{' '}
          <button
            type="button"
            className="link"
            onClick={() => onChange({ dashboard: isShown ? undefined : 'yes' }, true)}
          >
            {isShown ? 'Hide' : 'Show'}
          </button>
        </span>
      )}
    </>
  );
}

function NoLogs({ search, onChange }: OfLogs) {
  const isFiltered = search.filter !== undefined || search.level !== undefined;
  const clear = (): void => onChange({ filter: undefined, level: undefined });
  if (isFiltered)
    return (
      <Empty
        icon={ScrollText}
        title="No request matches"
        actions={<Button onClick={clear}>Clear the filter</Button>}
      >
        Try a longer period or another filter.
      </Empty>
    );
  return (
    <Empty
      icon={ScrollText}
      title="No requests in this period"
      actions={
        <LinkButton link={{ to: '/settings/$section', params: { section: 'logs' } }}>
          What is logged
        </LinkButton>
      }
      code={`curl ${apiUrl}/api/logs?sort=-created \\\n  -H "Authorization: $TOKEN"`}
    >
      Requests appear here about a second after their response, without bodies. Requests to this log are
      hidden.
    </Empty>
  );
}
