import { getRouteApi, useNavigate } from '@tanstack/react-router';
import Lock from 'lucide-react/icons/lock';
import type { ReactNode } from 'react';
import {
  mayOperate,
  type OperatorScope,
  signOutOperator,
  useOperatorKey,
} from '../../api/operator-session.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { decodeOperatorSearch, type OperatorSearch } from './operator-search.ts';

const route = getRouteApi('/operator/$section');

/** What the address of a section holds, and what changes a part of it. */
export function useSectionSearch() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const set = (change: { readonly [Name in keyof OperatorSearch]?: string | undefined }): void =>
    void navigate({ search: (before) => decodeOperatorSearch({ ...before, ...change }), replace: true });
  return [search, set] as const;
}

interface OperatorPageProps {
  readonly title: ReactNode;
  readonly aside?: ReactNode;
  /** What the key needs for what is shown. */
  readonly scope: OperatorScope;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A screen of the operator, or which scope the key lacks for it. */
export function OperatorPage({ title, aside, scope, actions, children }: OperatorPageProps) {
  const isAllowed = mayOperate(scope);
  return (
    <>
      <Bar title={title} aside={isAllowed && aside}>
        {isAllowed && actions}
      </Bar>
      {isAllowed ? children : <MissingScope scope={scope} />}
    </>
  );
}

function MissingScope({ scope }: { readonly scope: OperatorScope }) {
  const navigate = useNavigate();
  const key = useOperatorKey();
  const scopes = [...(key?.scopes ?? []), scope].join(',');
  return (
    <Empty
      icon={Lock}
      title={`Needs the scope ${scope}`}
      actions={
        <Button
          onClick={() => {
            signOutOperator();
            void navigate({ to: '/operator/login' });
          }}
        >
          Use another key
        </Button>
      }
      code={`chancery operator key create NAME --scopes ${scopes}`}
    >
      The key {key?.name} does not have it.
    </Empty>
  );
}
