import { Link } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef } from 'react';
import { type Log, logText } from '../../api/logs.ts';
import { localTime, parseTime } from '../../parts/time.tsx';
import { callerText, executionTime, LogStatus } from './log-status.tsx';

interface LogListProps {
  readonly logs: readonly Log[];
  readonly openId: string | undefined;
  readonly hasMore: boolean;
  readonly onMore: () => void;
}

/** The entries as links, so that each can be opened in a tab of its own. Rows out of sight cost nothing: the browser leaves them out. */
export function LogList({ logs, openId, hasMore, onMore }: LogListProps) {
  return (
    <>
      <div className="log-row log-head" aria-hidden>
        <span>Time</span>
        <span>Status</span>
        <span>Request</span>
        <span>Caller</span>
        <span className="log-duration">Took</span>
      </div>
      <ol className="log-list" aria-label="Requests">
        {logs.map((log) => (
          <li key={log.id} className="log-item" data-open={log.id === openId ? '' : undefined}>
            <LogRow log={log} isOpen={openId !== undefined} />
          </li>
        ))}
      </ol>
      {hasMore && <MoreLine onMore={onMore} />}
    </>
  );
}

function LogRow({ log, isOpen }: { readonly log: Log; readonly isOpen: boolean }) {
  const at = parseTime(log.created);
  const method = logText(log, 'method');
  return (
    <Link
      from="/logs"
      to="/logs"
      search={(before) => ({ ...before, log: log.id })}
      // Going through entries with the drawer open is one step back.
      replace={isOpen}
      className="log-row"
      title={log.created.replace('Z', ' UTC')}
    >
      <span className="log-time">
        <span className="log-day">{at === undefined ? log.created : localTime(at).slice(0, 10)} </span>
        {at === undefined ? '' : localTime(at).slice(11)}
      </span>
      <LogStatus log={log} />
      <span className="log-request cut">
        {method === '' ? (
          log.message
        ) : (
          <>
            <span className="log-method">{method}</span> {logText(log, 'url')}
          </>
        )}
      </span>
      <span className="log-caller cut">{method === '' ? '' : callerText(log)}</span>
      <span className="log-duration">{executionTime(log)}</span>
    </Link>
  );
}

/** Gets more when it comes into sight. A button as well, as keys do not scroll it there in every browser. */
function MoreLine({ onMore }: { readonly onMore: () => void }) {
  const line = useRef<HTMLButtonElement>(null);
  const more = useEffectEvent(onMore);
  useEffect(() => {
    if (line.current === null) return undefined;
    const watcher = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) more();
      },
      { rootMargin: '400px' },
    );
    watcher.observe(line.current);
    return () => watcher.disconnect();
  }, []);
  return (
    <button type="button" className="log-more" ref={line} onClick={onMore}>
      Show more
    </button>
  );
}
