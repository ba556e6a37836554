import ShieldCheck from 'lucide-react/icons/shield-check';
import { auditQuery } from '../../api/audit.ts';
import { apiUrl } from '../../api/client.ts';
import { AuditLog } from '../../parts/audit-log.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useSectionSearch } from './settings-form.tsx';

/** Who did what, and from where. Nothing in it can be changed. */
export function AuditSection() {
  const [search, set] = useSectionSearch();
  return (
    <AuditLog name="audit" queryOf={auditQuery} search={search} onSearch={set} hasRequests>
      {(isFiltered) => (
        <Empty
          icon={ShieldCheck}
          title={isFiltered ? 'No entry matches' : 'No entries yet'}
          code={`curl ${apiUrl}/api/audit?sort=-created \\\n  -H "Authorization: $TOKEN"`}
        >
          Sign-ins and changes to settings, keys, collections and endpoints, with their authors.
        </Empty>
      )}
    </AuditLog>
  );
}
