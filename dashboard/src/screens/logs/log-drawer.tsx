import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Braces from 'lucide-react/icons/braces';
import Ellipsis from 'lucide-react/icons/ellipsis';
import Link2 from 'lucide-react/icons/link-2';
import SquareTerminal from 'lucide-react/icons/square-terminal';
import type { ReactNode } from 'react';
import { apiUrl } from '../../api/client.ts';
import { type Log, logQuery, logText } from '../../api/logs.ts';
import { IconButton } from '../../parts/button.tsx';
import { copyText, TextToCopy } from '../../parts/copy-button.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { Facts } from '../../parts/facts.tsx';
import { JsonSection } from '../../parts/json-view.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { callerText, executionTime, LogStatus } from './log-status.tsx';

/** One entry with everything that the log has of it. */
export function LogDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useQuery(logQuery(id));
  const log = query.data;
  return (
    <Drawer
      title={log === undefined ? 'Request' : titleOf(log)}
      label="Request"
      actions={log !== undefined && <LogMenu log={log} />}
      onClose={onClose}
    >
      <div className="drawer-meta">
        <TextToCopy text={id} label="Copy the id" />
      </div>
      <div className="drawer-body log-details">
        <Loaded query={query} absent={<Notice>This entry has expired.</Notice>}>
          {(loaded) => <LogDetails log={loaded} />}
        </Loaded>
      </div>
    </Drawer>
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
  const { data, level, created } = log;
  const text = (name: string): string => logText(log, name);
  const toCopy = (name: string, label: string) =>
    text(name) !== '' && <TextToCopy text={text(name)} label={`Copy: ${label}`} />;
  const others = Object.entries(data).filter(([name]) => !told.has(name));
  return (
    <>
      {text('error') !== '' && (
        <Notice tone={level >= 8 ? 'failed' : 'retrying'}>
          {text('error')}
          {level >= 8 && ' The cause is in the server’s log, under the request id.'}
        </Notice>
      )}
      <Facts
        items={{
          Status: <LogStatus log={log} />,
          Time: <Time value={created} />,
          Took: executionTime(log),
          URL: text('url') !== '' && (
            <TextToCopy text={`${apiUrl}${text('url')}`} label="Copy: URL">
              {text('method')} {text('url')}
            </TextToCopy>
          ),
          Caller: text('method') !== '' && (
            <>
              {callerText(log)} <CallerLink log={log} />
            </>
          ),
          Client: toCopy('userIP', 'Client'),
          Connection: text('remoteIP') !== text('userIP') && toCopy('remoteIP', 'Connection'),
          Referer: text('referer'),
          'User agent': text('userAgent'),
          'Request id': text('requestId') !== '' && (
            <>
              {toCopy('requestId', 'Request id')} <RequestLinks requestId={text('requestId')} />
            </>
          ),
          ...Object.fromEntries(
            others.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
          ),
        }}
      />
      <JsonSection value={log} />
    </>
  );
}

function RequestLinks({ requestId }: { readonly requestId: string }) {
  return (
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
