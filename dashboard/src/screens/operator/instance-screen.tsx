import { useQuery } from '@tanstack/react-query';
import { getRouteApi, lazyRouteComponent } from '@tanstack/react-router';
import { Suspense } from 'react';
import { membersOf } from '../../api/members-of.ts';
import { instanceQuery } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { NotFound } from '../../parts/empty.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { InstanceActions } from './instance-actions.tsx';
import { InstanceDetail } from './instance-detail.tsx';
import type { InstanceForm } from './instance-drawer.tsx';
import { OperatorPage } from './operator-page.tsx';
import { StateBadge } from './state-badge.tsx';

// What forms are made of, which most looks do not need.
const InstanceDrawer = lazyRouteComponent(async () => import('./instance-drawer.tsx'), 'InstanceDrawer');

const route = getRouteApi('/operator/instances/$instance');

/** One instance: what it is, what it may use and uses, its backups, and what can be done with it. */
export function InstanceScreen() {
  const { instance: id } = route.useParams();
  const { open } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery({ ...instanceQuery(id), enabled: mayOperate('instances:read') });
  const { data: instance } = query;
  const close = (): void => void navigate({ search: ({ open: _open, ...rest }) => rest, replace: true });
  const form = formOf(open);
  return (
    <OperatorPage
      title={<span className="cut">{instance?.slug ?? 'Instance'}</span>}
      aside={instance !== undefined && <StateBadge state={instance.state} />}
      scope="instances:read"
      actions={instance !== undefined && <InstanceActions instance={instance} />}
    >
      <div className="records" data-drawer={instance === undefined || form === undefined ? undefined : ''}>
        <div className="detail" tabIndex={-1}>
          <Loaded query={query} absent={<NoInstance />}>
            {(loaded) => <InstanceDetail instance={loaded} />}
          </Loaded>
        </div>
        {instance !== undefined && form !== undefined && (
          <Suspense fallback={<aside className="drawer" aria-busy />}>
            <InstanceDrawer key={form + id} open={form} instance={instance} onClose={close} />
          </Suspense>
        )}
      </div>
    </OperatorPage>
  );
}

const scopes = {
  edit: 'instances:write',
  clone: 'instances:write',
  key: 'keys:write',
  'sign-in': 'keys:write',
} as const satisfies Readonly<Record<InstanceForm, string>>;

/** Returns the form that the address names, if the key may do what is done there. */
function formOf(open: string | undefined): InstanceForm | undefined {
  return membersOf(scopes).find((name) => name === open && mayOperate(scopes[name]));
}

function NoInstance() {
  return (
    <NotFound
      title="Instance not found"
      link={{ to: '/operator/$section', params: { section: 'instances' } }}
      action="Go to instances"
    >
      It may have been removed.
    </NotFound>
  );
}
