import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import CirclePause from 'lucide-react/icons/circle-pause';
import CirclePlay from 'lucide-react/icons/circle-play';
import RefreshCw from 'lucide-react/icons/refresh-cw';
import ScrollText from 'lucide-react/icons/scroll-text';
import { useState } from 'react';
import { apiUrl, Failure } from '../../api/client.ts';
import { liveLogsMax, liveLogsQuery, type Log, logHoursQuery, logFilter, logsQuery } from '../../api/logs.ts';
import { useKeys } from '../../browser/keys.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button, IconButton } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { LogDrawer } from './log-drawer.tsx';
import { LogFilter } from './log-filter.tsx';
import { LogList } from './log-list.tsx';
import { LogPlot } from './log-plot.tsx';
import { type LogChange, type LogSearch, timeText, toTimeRange } from './log-search.ts';
import { LogToolbar } from './log-toolbar.tsx';

const route = getRouteApi('/shell/logs');

/** What was asked of the service, by whom, and how it ended. */
export function LogsScreen() {
  const { search, change } = useAddress();
  const { filter = '', log, live } = search;
  const view = useLogs(search);
  const { logs } = view;
  const step = (by: number): void => {
    const index = logs.findIndex(({ id }) => id === log);
    const next = logs[index + by];
    if (log !== undefined && index >= 0 && next !== undefined) change({ log: next.id }, true);
  };
  useKeys({
    Escape: () => log !== undefined && change({ log: undefined }),
    j: () => step(1),
    k: () => step(-1),
    l: () => change({ live: live === 'yes' ? undefined : 'yes' }, true),
  });
  return (
    <>
      <Bar title="Logs">
        <Button
          onClick={() => change({ live: live === 'yes' ? undefined : 'yes' }, true)}
          aria-pressed={live === 'yes'}
        >
          {live === 'yes' ? <CirclePause size={15} aria-hidden /> : <CirclePlay size={15} aria-hidden />}
          {live === 'yes' ? 'Stop' : 'Live'}
        </Button>
        <IconButton label="Refresh" onClick={view.refresh}>
          <RefreshCw size={15} aria-hidden />
        </IconButton>
      </Bar>
      <div className="records" data-drawer={log === undefined ? undefined : ''}>
        <section className="records-list" aria-label="Request log">
          <search className="filter log-filter">
            <LogFilter
              filter={filter}
              onFilter={(next) => change({ filter: next }, true)}
              error={view.refusal}
            />
            <LogToolbar search={search} onChange={change} />
          </search>
          <div className="log-scroll" tabIndex={-1}>
            {view.refusal === undefined && (
              <LogPlot
                hours={view.hours}
                range={view.range}
                onChoose={(from, to) => change({ from: timeText(from), to: timeText(to), live: undefined })}
              />
            )}
            <LogEntries search={search} view={view} onChange={change} />
          </div>
        </section>
        {log !== undefined && <LogDrawer key={log} id={log} onClose={() => change({ log: undefined })} />}
      </div>
    </>
  );
}

function useAddress() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: LogChange, replace = false): void =>
    void navigate({ search: (before) => merge(before, next), replace });
  return { search, change };
}

function merge(before: LogSearch, next: LogChange): LogSearch {
  const all = Object.entries({ ...before, ...next });
  // The cast holds: only members without a value are left out.
  return Object.fromEntries(all.filter(([, value]) => value !== undefined && value !== '')) as LogSearch;
}

type LogView = ReturnType<typeof useLogs>;

/** The entries up to a moment, those since then while it is live, and how many there are by hour. */
function useLogs(search: LogSearch) {
  const [now, setNow] = useState(() => new Date());
  const range = toTimeRange(search, now);
  const { filter: text = '', level } = search;
  const isLive = search.live === 'yes' && range.isOpen;
  const expression = logFilter({ text, level, from: range.from, to: range.to });
  const list = useInfiniteQuery({ ...logsQuery(expression), placeholderData: keepPreviousData });
  const refusal = list.error instanceof Failure && list.error.status === 400 ? list.error.message : undefined;
  const hours = useQuery({
    ...logHoursQuery(expression),
    placeholderData: keepPreviousData,
    enabled: refusal === undefined,
  });
  const live = useQuery({
    ...liveLogsQuery(logFilter({ text, level, from: now, to: farFuture })),
    enabled: isLive && refusal === undefined,
  });
  const newer = isLive ? (live.data ?? []) : [];
  const older = list.data?.pages.flat() ?? [];
  return {
    logs: newer.length === 0 ? older : withoutRepetition([...newer, ...older]),
    isLiveFull: newer.length >= liveLogsMax,
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

interface LogEntriesProps {
  readonly search: LogSearch;
  readonly view: LogView;
  readonly onChange: (next: LogChange) => void;
}

function LogEntries({ search, view, onChange }: LogEntriesProps) {
  const { list, logs, refusal, isLiveFull } = view;
  if (refusal !== undefined) return null;
  if (list.isError)
    return (
      <div className="empty">
        <FailureNotice error={list.error} onRetry={() => void list.refetch()} />
      </div>
    );
  if (list.isPending) return <PlaceholderLogs />;
  if (logs.length === 0) return <NoLogs search={search} onChange={onChange} />;
  return (
    <>
      {isLiveFull && (
        <p className="log-note">
          The latest {liveLogsMax} since it began are shown. Refresh to see them all.
        </p>
      )}
      <LogList
        logs={logs}
        openId={search.log}
        hasMore={list.hasNextPage}
        onMore={() => {
          if (!list.isFetchingNextPage) void list.fetchNextPage();
        }}
      />
    </>
  );
}

function NoLogs({ search, onChange }: Pick<LogEntriesProps, 'search' | 'onChange'>) {
  const isFiltered = search.filter !== undefined || search.level !== undefined;
  if (isFiltered)
    return (
      <Empty
        icon={<ScrollText size={24} strokeWidth={1.5} aria-hidden />}
        title="No request matches"
        actions={
          <Button onClick={() => onChange({ filter: undefined, level: undefined })}>Clear the filter</Button>
        }
      >
        The filter selects nothing in this time.
      </Empty>
    );
  return (
    <Empty
      icon={<ScrollText size={24} strokeWidth={1.5} aria-hidden />}
      title="No request in this time"
      actions={
        <Link to="/settings/$section" params={{ section: 'logs' }} className="button">
          What is logged
        </Link>
      }
      code={`curl ${apiUrl}/api/logs?sort=-created \\\n  -H "Authorization: $TOKEN"`}
    >
      Every request becomes an entry about a second after its answer, without its body. Those that read this
      log are not shown.
    </Empty>
  );
}

function PlaceholderLogs() {
  return (
    <div aria-hidden>
      {[220, 310, 180, 260, 340, 200, 280, 240].map((inlineSize) => (
        <div key={inlineSize} className="log-row">
          <span className="placeholder" style={{ inlineSize: 120 }} />
          <span className="placeholder" style={{ inlineSize: 40 }} />
          <span className="placeholder" style={{ inlineSize }} />
        </div>
      ))}
    </div>
  );
}
