import { getRouteApi } from '@tanstack/react-router';
import type { ManagedInstance } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { TextToCopy } from '../../parts/copy-button.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { RestoreButton } from './instance-actions.tsx';
import { InstanceBackups } from './instance-backups.tsx';
import { LabelChips } from './label-chips.tsx';
import { QuotaBars } from './quota-bars.tsx';
import { spanOf } from './span-choice.tsx';
import { UsagePlots } from './usage-plots.tsx';

const route = getRouteApi('/operator/instances/$instance');

interface OnInstance {
  readonly instance: ManagedInstance;
}

export function InstanceDetail({ instance }: OnInstance) {
  const { id, state } = instance;
  const span = spanOf(route.useSearch());
  const navigate = route.useNavigate();
  const missing = (['instances:write', 'keys:write', 'usage:read'] as const).filter(
    (scope) => !mayOperate(scope),
  );
  return (
    <div className="detail-page">
      <StateNotice instance={instance} />
      {missing.length > 0 && <Notice>The key lacks {missing.join(', ')}.</Notice>}
      <InstanceFacts instance={instance} />
      {state !== 'deleted' && <QuotaBars id={id} state={state} />}
      {mayOperate('usage:read') && (
        <UsagePlots
          id={id}
          span={span}
          onSpan={(next) => void navigate({ search: (before) => ({ ...before, span: next }), replace: true })}
        />
      )}
      {state !== 'deleted' && <InstanceBackups id={id} />}
    </div>
  );
}

/** What an instance that is not served needs somebody to know. */
function StateNotice({ instance }: OnInstance) {
  const { state, stateSince, restorableUntil } = instance;
  if (state === 'suspended')
    return (
      <Notice tone="retrying">
        Suspended since <Time value={stateSince} />. Requests get a 403, webhooks wait.
      </Notice>
    );
  if (state !== 'deleted') return null;
  return (
    <Notice tone="failed">
      Deleted. Can be restored until <Time value={restorableUntil} />.
      <div className="notice-actions">
        <RestoreButton instance={instance} />
      </div>
    </Notice>
  );
}

const labelsMax = 64;

function InstanceFacts({ instance: { id, url, host, created, labels } }: OnInstance) {
  const none = <span className="faint">none</span>;
  return (
    <Facts
      items={{
        URL: <TextToCopy text={url} label="Copy the URL" />,
        Host: host ?? none,
        Id: <TextToCopy text={id} label="Copy the id" />,
        Created: <Time value={created} />,
        Labels: Object.keys(labels).length === 0 ? none : <LabelChips labels={labels} max={labelsMax} />,
      }}
    />
  );
}
