import { Link } from '@tanstack/react-router';
import { type Log, logText } from '../../api/logs.ts';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { timeColumn } from '../../parts/data-table/time-column.tsx';
import { callerText, executionTime, LogStatus } from './log-status.tsx';

/** The columns of the log; what they are called is what the service sorts by. */
export function logColumns(isOpen: boolean): readonly DataColumn<Log>[] {
  return [
    { id: 'level', label: 'Status', size: 96, sort: 'service', cell: (log) => <LogStatus log={log} /> },
    {
      id: 'message',
      label: 'Request',
      size: 280,
      kind: 'main',
      sort: 'service',
      cell: (log) => <RequestLink log={log} isOpen={isOpen} />,
    },
    {
      id: 'caller',
      label: 'Caller',
      size: 120,
      cell: (log) => (logText(log, 'method') === '' ? null : callerText(log)),
    },
    {
      id: 'data.execTime',
      label: 'Took',
      size: 84,
      kind: 'number',
      sort: 'service',
      cell: executionTime,
    },
    timeColumn,
  ];
}

/** A link, so that each entry can be opened in a tab of its own. */
function RequestLink({ log, isOpen }: { readonly log: Log; readonly isOpen: boolean }) {
  const method = logText(log, 'method');
  return (
    <Link
      from="/logs"
      to="/logs"
      search={(before) => ({ ...before, log: log.id })}
      // Going through entries with the drawer open is one step back.
      replace={isOpen}
      className="table-link log-request cut"
    >
      {method === '' ? (
        log.message
      ) : (
        <>
          <span className="soft">{method}</span> {logText(log, 'url')}
        </>
      )}
    </Link>
  );
}
