import { getRouteApi, lazyRouteComponent } from '@tanstack/react-router';
import Plus from 'lucide-react/icons/plus';
import { Suspense } from 'react';
import { mayOperate } from '../../api/operator-session.ts';
import { useKeys } from '../../browser/keys.ts';
import { Button } from '../../parts/button.tsx';
import { InstanceList } from './instance-list.tsx';
import { OperatorPage } from './operator-page.tsx';

// What forms are made of, which most looks do not need.
const CreateDrawer = lazyRouteComponent(async () => import('./create-drawer.tsx'), 'CreateDrawer');

const route = getRouteApi('/operator/$section');

/** All instances, and a drawer for another one. */
export function InstancesScreen() {
  const { open } = route.useSearch();
  const navigate = route.useNavigate();
  const mayCreate = mayOperate('instances:write');
  const isCreating = open === 'create' && mayCreate;
  const setOpen = (isOpen: boolean): void =>
    void navigate({
      search: ({ open: _open, ...rest }) => ({ ...rest, ...(isOpen && { open: 'create' }) }),
      replace: !isOpen,
    });
  useKeys({
    c: (event) => {
      if (!mayCreate) return;
      event.preventDefault();
      setOpen(true);
    },
  });
  return (
    <OperatorPage
      title="Instances"
      scope="instances:read"
      actions={
        mayCreate && (
          <Button icon={Plus} tone="primary" onClick={() => setOpen(true)}>
            New instance
          </Button>
        )
      }
    >
      <div className="records" data-drawer={isCreating ? '' : undefined}>
        <InstanceList />
        {isCreating && (
          <Suspense fallback={<aside className="drawer" aria-busy />}>
            <CreateDrawer onClose={() => setOpen(false)} />
          </Suspense>
        )}
      </div>
    </OperatorPage>
  );
}
