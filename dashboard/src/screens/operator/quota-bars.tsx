import { useQuery } from '@tanstack/react-query';
import CircleAlert from 'lucide-react/icons/circle-alert';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { type ManagedInstance, type QuotaReading, quotasQuery } from '../../api/operator.ts';
import { Badge } from '../../parts/badge.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { percent } from '../../parts/percent.ts';
import { Section } from '../../parts/section.tsx';
import { quotaAmount, quotaLabel } from './instance-values.ts';

/** The quotas of an instance, and how much of each is used. */
export function QuotaBars({ id, state }: { readonly id: string; readonly state: ManagedInstance['state'] }) {
  const { data: quotas, error, refetch } = useQuery(quotasQuery(id));
  return (
    <Section title="Quotas" note={state === 'suspended' && 'not measured while suspended'}>
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {quotas?.length === 0 && <p className="soft">No limits</p>}
      {quotas !== undefined && quotas.length > 0 && (
        <ul className="panel operator-bars">
          {quotas.map((quota) => (
            <QuotaBar key={quota.name} quota={quota} />
          ))}
        </ul>
      )}
    </Section>
  );
}

/** The share from which on a quota is amber, as for the events of the operator. */
const warning = 0.8;

function QuotaBar({ quota: { name, used, max } }: { readonly quota: QuotaReading }) {
  const label = quotaLabel(name);
  if (used === null)
    return (
      <li className="operator-bar">
        <span>{label}</span>
        <span className="soft operator-bar-text">at most {quotaAmount(name, max)}</span>
      </li>
    );
  const share = max === 0 ? 1 : used / max;
  const tone = share >= 1 ? 'failed' : share >= warning ? 'retrying' : undefined;
  return (
    <li className="operator-bar">
      <span>{label}</span>
      <progress
        className="progress"
        data-tone={tone}
        value={max === 0 ? 1 : Math.min(used, max)}
        max={Math.max(max, 1)}
        aria-label={label}
      />
      <span className="operator-bar-text">
        <span className="soft">
          {quotaAmount(name, used)} of {quotaAmount(name, max)}
        </span>
        <Badge tone={tone} icon={tone === undefined ? undefined : share >= 1 ? CircleAlert : TriangleAlert}>
          {percent(Math.floor(share * 100) / 100)}
        </Badge>
      </span>
    </li>
  );
}
