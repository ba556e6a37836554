import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useRouter } from '@tanstack/react-router';
import Archive from 'lucide-react/icons/archive';
import Boxes from 'lucide-react/icons/boxes';
import ChartColumn from 'lucide-react/icons/chart-column';
import History from 'lucide-react/icons/history';
import Server from 'lucide-react/icons/server';
import ShieldCheck from 'lucide-react/icons/shield-check';
import { useEffect } from 'react';
import { Failure } from '../api/client.ts';
import { callOperator, onOperatorExpired, signOutOperator, useOperatorKey } from '../api/operator-session.ts';
import { useKeys } from '../browser/keys.ts';
import { Seal } from '../parts/seal.tsx';
import { AccountMenu } from './account-menu.tsx';
import { Frame } from './frame.tsx';

const links = [
  { section: 'instances', label: 'Instances', icon: Boxes },
  { section: 'usage', label: 'Usage', icon: ChartColumn },
  { section: 'backups', label: 'Backups', icon: Archive },
  { section: 'nodes', label: 'Nodes', icon: Server },
  { section: 'events', label: 'Events', icon: History },
  { section: 'audit', label: 'Audit log', icon: ShieldCheck },
] as const;

/** The frame of the operator's screens, for whoever has an operator key. */
export function OperatorShell() {
  const key = useOperatorKey();
  const leave = useLeave();
  useReturnAfterExpiry(leave);
  useKeys({
    '/': (event) => {
      const filter = document.querySelector<HTMLInputElement>('[data-filter]');
      if (filter === null) return;
      event.preventDefault();
      filter.focus();
    },
  });
  // On the way to the sign-in.
  if (key === undefined) return null;
  return (
    <Frame
      renderSidebar={(isOpen) => (
        <nav className="sidebar" aria-label="Main" data-open={isOpen ? '' : undefined}>
          <div className="sidebar-head">
            <Seal />
            <span className="sidebar-name cut">Operator</span>
          </div>
          <div className="sidebar-scroll" tabIndex={-1}>
            {links.map(({ section, label, icon: Icon }) => (
              <Link
                key={section}
                to="/operator/$section"
                params={{ section }}
                className="nav-link"
                activeOptions={{ includeSearch: false }}
              >
                <Icon size={15} aria-hidden />
                {label}
              </Link>
            ))}
          </div>
          <div className="sidebar-foot">
            <AccountMenu label={key.name} onLeave={() => leave({})} />
          </div>
        </nav>
      )}
    />
  );
}

type Leave = (search: { readonly next?: string; readonly expired?: string }) => void;

/** Signs out and forgets what was shown. */
function useLeave(): Leave {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (search) => {
    signOutOperator();
    void navigate({ to: '/operator/login', search, replace: true }).then(() => queries.clear());
  };
}

/** Sends people to sign in when the service takes their key no more: it was revoked, it has expired, or there are no keys at all. */
function useReturnAfterExpiry(leave: Leave): void {
  const router = useRouter();
  const { error } = useQuery({
    queryKey: ['operator', 'key'],
    queryFn: async ({ signal }) => callOperator('GET /api/operator/keys/current', { signal }),
    retry: false,
  });
  const isWithoutKeys = error instanceof Failure && error.status === 404;
  useEffect(() => {
    const end = (): void => {
      const { pathname, searchStr } = router.state.location;
      leave({ next: pathname + searchStr, expired: 'yes' });
    };
    if (isWithoutKeys) end();
    return onOperatorExpired(end);
  });
}
