import ShieldCheck from 'lucide-react/icons/shield-check';
import { operatorAuditQuery } from '../../api/operator.ts';
import { AuditLog } from '../../parts/audit-log.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useSectionSearch } from './operator-page.tsx';

/** What operator keys have done, and the refused ones. */
export function OperatorAudit() {
  const [search, set] = useSectionSearch();
  return (
    <AuditLog
      name="operator-audit"
      queryOf={operatorAuditQuery}
      search={search}
      onSearch={set}
      hasRequests={false}
    >
      {(isFiltered) => (
        <Empty icon={ShieldCheck} title={isFiltered ? 'No entry matches' : 'No entries yet'}>
          Changes made with operator keys, and refused keys.
        </Empty>
      )}
    </AuditLog>
  );
}
