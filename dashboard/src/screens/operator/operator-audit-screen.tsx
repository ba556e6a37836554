import { getRouteApi } from '@tanstack/react-router';
import ShieldCheck from 'lucide-react/icons/shield-check';
import { operatorAuditQuery } from '../../api/operator.ts';
import { AuditLog } from '../../parts/audit-log.tsx';
import { Empty } from '../../parts/empty.tsx';
import { OperatorPage } from './operator-page.tsx';

const route = getRouteApi('/operator/$section');

/** What operator keys have done, and the refused ones. */
export function OperatorAuditScreen() {
  const { filter, entry } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <OperatorPage title="Audit log" scope="admin">
      <div className="detail" tabIndex={-1}>
        <div className="detail-page">
          <AuditLog
            queryOf={operatorAuditQuery}
            search={{ ...(filter !== undefined && { filter }), ...(entry !== undefined && { entry }) }}
            onSearch={(search) => void navigate({ search, replace: true })}
            hasRequests={false}
          >
            {(isFiltered) => (
              <Empty
                icon={<ShieldCheck size={24} strokeWidth={1.5} aria-hidden />}
                title={isFiltered ? 'No entry matches' : 'No entries yet'}
              >
                Changes made with operator keys, and refused keys.
              </Empty>
            )}
          </AuditLog>
        </div>
      </div>
    </OperatorPage>
  );
}
