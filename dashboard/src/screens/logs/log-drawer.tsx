import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Braces from 'lucide-react/icons/braces';
import Ellipsis from 'lucide-react/icons/ellipsis';
import Link2 from 'lucide-react/icons/link-2';
import SquareTerminal from 'lucide-react/icons/square-terminal';
import X from 'lucide-react/icons/x';
import type { ReactNode } from 'react';
import { apiUrl, Failure } from '../../api/client.ts';
import { type Log, logQuery, logText } from '../../api/logs.ts';
import { IconButton } from '../../parts/button.tsx';
import { copyText, CopyButton } from '../../parts/copy-button.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { callerText, executionTime, LogStatus } from './log-status.tsx';

interface LogDrawerProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** One entry with everything that the log has of it. */
export function LogDrawer({ id, onClose }: LogDrawerProps) {
  const { data: log, error, refetch } = useQuery(logQuery(id));
  return (
    <aside className="drawer" aria-label="Request">
      <header className="drawer-head">
        <div className="drawer-title">
          <h2 className="cut">{log === undefined ? 'Request' : titleOf(log)}</h2>
        </div>
        {log !== undefined && <LogMenu log={log} />}
        <IconButton icon={X} label="Close" keys="esc" onClick={onClose} />
      </header>
      <div className="drawer-meta">
        <span className="mono cut">{id}</span>
        <CopyButton text={id} label="Copy the id" />
      </div>
      <div className="drawer-body log-details">
        {error !== null &&
          (error instanceof Failure && error.status === 404 ? (
            <Notice>This entry has expired.</Notice>
          ) : (
            <FailureNotice error={error} onRetry={() => void refetch()} />
          ))}
        {log === undefined && error === null && <PlaceholderDetails />}
        {log !== undefined && <LogDetails log={log} />}
      </div>
    </aside>
  );
}

function titleOf(log: Log): string {
  const [path = ''] = logText(log, 'url').split('?', 1);
  return path === '' ? log.message : `${logText(log, 'method')} ${path}`;
}

/** Members that have a line of their own; any other of an entry follows them, so that a newer service shows all it has. */
const told: ReadonlySet<string> = new Set([
  'auth',
  'authId',
  'error',
  'execTime',
  'key',
  'method',
  'referer',
  'remoteIP',
  'requestId',
  'status',
  'type',
  'url',
  'userAgent',
  'userIP',
]);

function LogDetails({ log }: { readonly log: Log }) {
  const { data } = log;
  const text = (name: string): string => logText(log, name);
  const requestId = text('requestId');
  const others = Object.entries(data).filter(([name]) => !told.has(name));
  return (
    <>
      {text('error') !== '' && (
        <Notice tone={log.level >= 8 ? 'failed' : 'retrying'}>
          {text('error')}
          {log.level >= 8 && ' The cause is in the server’s log, under the request id.'}
        </Notice>
      )}
      <dl className="details">
        <Detail name="Status">
          <LogStatus log={log} />
        </Detail>
        <Detail name="Time">
          <Time value={log.created} />
        </Detail>
        <Detail name="Took">{executionTime(log)}</Detail>
        <Detail name="URL" copy={text('url') === '' ? '' : `${apiUrl}${text('url')}`}>
          {text('url') !== '' && (
            <span className="mono">
              {text('method')} {text('url')}
            </span>
          )}
        </Detail>
        <Detail name="Caller">
          {text('method') !== '' && callerText(log)}
          <CallerLink log={log} />
        </Detail>
        <Detail name="Client" copy={text('userIP')}>
          {text('userIP')}
        </Detail>
        <Detail name="Connection" copy={text('remoteIP')}>
          {text('remoteIP') !== text('userIP') && text('remoteIP')}
        </Detail>
        <Detail name="Referer">{text('referer')}</Detail>
        <Detail name="User agent">{text('userAgent')}</Detail>
        <Detail name="Request id" copy={requestId}>
          {requestId !== '' && <RequestLinks requestId={requestId} />}
        </Detail>
        {others.map(([name, value]) => (
          <Detail key={name} name={name}>
            {typeof value === 'string' ? value : JSON.stringify(value)}
          </Detail>
        ))}
      </dl>
      <section aria-label="JSON" className="log-json">
        <div className="section-head">
          <h3>JSON</h3>
          <CopyButton text={JSON.stringify(log, null, 2)} label="Copy the JSON" />
        </div>
        <JsonView value={log} />
      </section>
    </>
  );
}

function RequestLinks({ requestId }: { readonly requestId: string }) {
  return (
    <>
      <span className="mono">{requestId}</span>
      <span className="detail-links">
        <FilterLink filter={`data.requestId = "${requestId}"`}>Requests with this id</FilterLink>
        <Link
          to="/settings/$section"
          params={{ section: 'audit' }}
          search={{ filter: `requestId = "${requestId}"` }}
          className="link"
        >
          Its audit log
        </Link>
      </span>
    </>
  );
}

function CallerLink({ log }: { readonly log: Log }) {
  const [auth, authId, key] = [logText(log, 'auth'), logText(log, 'authId'), logText(log, 'key')];
  if (key !== '')
    return (
      <span className="detail-links">
        <span className="mono">{key}</span>
        <FilterLink filter={`data.key = "${key}"`}>Requests of this key</FilterLink>
      </span>
    );
  if (auth === '' || authId === '') return null;
  return (
    <span className="detail-links">
      <Link to="/c/$collection" params={{ collection: auth }} search={{ record: authId }} className="link">
        {authId}
      </Link>
      <FilterLink filter={`data.authId = "${authId}"`}>Requests of this account</FilterLink>
    </span>
  );
}

function FilterLink({ filter, children }: { readonly filter: string; readonly children: ReactNode }) {
  return (
    <Link
      from="/logs"
      to="/logs"
      search={({ level: _level, live: _live, ...rest }) => ({ ...rest, filter, dashboard: 'yes' })}
      className="link"
    >
      {children}
    </Link>
  );
}

interface DetailProps {
  readonly name: string;
  /** The text to copy, where it is worth it. */
  readonly copy?: string;
  readonly children: ReactNode;
}

/** A line of an entry; none where the entry does not have it. */
function Detail({ name, copy = '', children }: DetailProps) {
  const parts = Array.isArray(children) ? children : [children];
  if (parts.every((part) => part === '' || part === false || part === null || part === undefined))
    return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <div className="detail-value">{children}</div>
        {copy !== '' && <CopyButton text={copy} label={`Copy: ${name}`} />}
      </dd>
    </>
  );
}

function LogMenu({ log }: { readonly log: Log }) {
  const copy = async (text: string, name: string): Promise<void> => {
    if (await copyText(text)) showToast(`${name} copied.`);
  };
  const url = `${apiUrl}${logText(log, 'url')}`;
  const method = logText(log, 'method');
  const curl = `curl ${method === 'GET' ? '' : `-X ${method} `}'${url.replaceAll("'", String.raw`'\''`)}' -H "Authorization: $TOKEN"`;
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label="More" />}>
      <MenuItem icon={Link2} onSelect={() => void copy(location.href, 'Link')}>
        Copy a link to this entry
      </MenuItem>
      <MenuItem icon={Braces} onSelect={() => void copy(JSON.stringify(log, null, 2), 'JSON')}>
        Copy the JSON
      </MenuItem>
      {method !== '' && (
        <MenuItem icon={SquareTerminal} onSelect={() => void copy(curl, 'curl')}>
          Copy a curl command
        </MenuItem>
      )}
    </Menu>
  );
}

function PlaceholderDetails() {
  return (
    <dl className="details" aria-hidden>
      {[64, 148, 52, 260, 96, 110].map((inlineSize) => (
        <div key={inlineSize} className="detail-placeholder">
          <dt>
            <span className="placeholder" style={{ inlineSize: 60 }} />
          </dt>
          <dd>
            <span className="placeholder" style={{ inlineSize }} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
