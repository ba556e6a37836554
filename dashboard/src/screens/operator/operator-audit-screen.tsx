import { getRouteApi } from '@tanstack/react-router';
import ShieldCheck from 'lucide-react/icons/shield-check';
import { operatorAuditQuery } from '../../api/operator.ts';
import { AuditLog } from '../../parts/audit-log.tsx';
import { Empty } from '../../parts/empty.tsx';
import { OperatorPage } from './operator-page.tsx';

const route = getRouteApi('/operator/$section');

/** What operator keys have done, and the refused ones. */
export function OperatorAuditScreen() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <OperatorPage title="Audit log" scope="admin">
      <AuditLog
        name="operator-audit"
        queryOf={operatorAuditQuery}
        search={search}
        onSearch={(next) => void navigate({ search: next, replace: true })}
        hasRequests={false}
      >
        {(isFiltered) => (
          <Empty icon={ShieldCheck} title={isFiltered ? 'No entry matches' : 'No entries yet'}>
            Changes made with operator keys, and refused keys.
          </Empty>
        )}
      </AuditLog>
    </OperatorPage>
  );
}
