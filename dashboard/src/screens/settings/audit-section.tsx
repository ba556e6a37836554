import { getRouteApi } from '@tanstack/react-router';
import ShieldCheck from 'lucide-react/icons/shield-check';
import { auditQuery } from '../../api/audit.ts';
import { apiUrl } from '../../api/client.ts';
import { AuditLog } from '../../parts/audit-log.tsx';
import { Empty } from '../../parts/empty.tsx';

const route = getRouteApi('/shell/settings/$section');

/** Who did what, and from where. Nothing in it can be changed. */
export function AuditSection() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <AuditLog
      name="audit"
      queryOf={auditQuery}
      search={search}
      onSearch={(next) => void navigate({ search: next, replace: true })}
      hasRequests
    >
      {(isFiltered) => <NoEntries isFiltered={isFiltered} />}
    </AuditLog>
  );
}

function NoEntries({ isFiltered }: { readonly isFiltered: boolean }) {
  return (
    <Empty
      icon={ShieldCheck}
      title={isFiltered ? 'No entry matches' : 'No entries yet'}
      code={`curl ${apiUrl}/api/audit?sort=-created \\\n  -H "Authorization: $TOKEN"`}
    >
      Sign-ins and changes to settings, keys, collections and endpoints, with their authors.
    </Empty>
  );
}
