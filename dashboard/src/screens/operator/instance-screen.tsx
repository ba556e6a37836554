import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import SearchX from 'lucide-react/icons/search-x';
import { lazy, Suspense } from 'react';
import { Failure } from '../../api/client.ts';
import { instanceQuery, type ManagedInstance } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { Empty } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { PlaceholderLines } from '../../parts/placeholder-lines.tsx';
import { CloneDrawer } from './clone-drawer.tsx';
import { EditDrawer } from './edit-drawer.tsx';
import { InstanceActions } from './instance-actions.tsx';
import { InstanceDetail } from './instance-detail.tsx';
import { OperatorPage } from './operator-page.tsx';
import { SignInDrawer } from './sign-in-drawer.tsx';
import { StateBadge } from './state-badge.tsx';

// Few need it, and seldom.
const KeyDrawer = lazy(async () => {
  const { KeyDrawer: Drawer } = await import('./key-drawer.tsx');
  return { default: Drawer };
});

const route = getRouteApi('/operator/instances/$instance');

/** One instance: what it is, what it may use and uses, its backups, and what can be done with it. */
export function InstanceScreen() {
  const { instance: id } = route.useParams();
  const { open } = route.useSearch();
  const navigate = route.useNavigate();
  const {
    data: instance,
    error,
    refetch,
  } = useQuery({ ...instanceQuery(id), enabled: mayOperate('instances:read') });
  const isAbsent = error instanceof Failure && error.status === 404;
  const close = (): void => void navigate({ search: ({ open: _open, ...rest }) => rest, replace: true });
  const drawer = instance && drawerOf(open, { instance, onClose: close });
  return (
    <OperatorPage
      title={<span className="cut">{instance?.slug ?? 'Instance'}</span>}
      aside={instance !== undefined && <StateBadge state={instance.state} />}
      scope="instances:read"
      actions={instance !== undefined && <InstanceActions instance={instance} />}
    >
      <div className="records" data-drawer={drawer === undefined ? undefined : ''}>
        <div className="detail" tabIndex={-1}>
          {isAbsent && <NoInstance />}
          {error !== null && !isAbsent && (
            <div className="detail-page">
              <FailureNotice error={error} onRetry={() => void refetch()} />
            </div>
          )}
          {instance === undefined && error === null && <PlaceholderLines count={5} />}
          {instance !== undefined && !isAbsent && <InstanceDetail instance={instance} />}
        </div>
        {drawer}
      </div>
    </OperatorPage>
  );
}

interface OnInstance {
  readonly instance: ManagedInstance;
  readonly onClose: () => void;
}

/** The drawer that the address names, if the key may do what is done there. */
function drawerOf(open: string | undefined, props: OnInstance) {
  const { id } = props.instance;
  if (open === 'edit' && mayOperate('instances:write')) return <EditDrawer key={id} {...props} />;
  if (open === 'clone' && mayOperate('instances:write')) return <CloneDrawer key={id} {...props} />;
  if (open === 'key' && mayOperate('keys:write'))
    return (
      <Suspense fallback={<aside className="drawer" aria-busy />}>
        <KeyDrawer key={id} {...props} />
      </Suspense>
    );
  if (open === 'sign-in' && mayOperate('keys:write')) return <SignInDrawer key={id} {...props} />;
  return undefined;
}

function NoInstance() {
  return (
    <Empty
      icon={<SearchX size={24} strokeWidth={1.5} aria-hidden />}
      title="There is no such instance"
      actions={
        <Link to="/operator/$section" params={{ section: 'instances' }} className="button">
          To all instances
        </Link>
      }
    >
      It may have been removed.
    </Empty>
  );
}
