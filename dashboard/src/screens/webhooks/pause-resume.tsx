import { useQuery } from '@tanstack/react-query';
import BadgeCheck from 'lucide-react/icons/badge-check';
import Pause from 'lucide-react/icons/pause';
import Play from 'lucide-react/icons/play';
import { useState } from 'react';
import { explainedChoicesOf } from '../../api/members-of.ts';
import { type Backlog, endpointStatsQuery, useEndpointChange } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import { useToastedAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { RadioList } from '../../parts/radio-list.tsx';
import { showToast } from '../../parts/toast.tsx';
import { waitingCount } from '../../parts/percent.ts';

interface OnEndpoint {
  readonly endpoint: Endpoint;
}

/** Holds an endpoint, or lets it go on: then with a choice what becomes of what has waited. One that is not verified can only be that. */
export function PauseResume({ endpoint }: OnEndpoint) {
  const change = useEndpointChange();
  if (endpoint.status === 'unverified') return <Verify endpoint={endpoint} />;
  if (endpoint.status !== 'active') return <Resume endpoint={endpoint} />;
  return (
    <ConfirmButton
      label="Pause …"
      button={{ icon: Pause }}
      title="Pause this endpoint?"
      action="Pause"
      tone="primary"
      done="Paused. Its deliveries are collected."
      onConfirm={async () => change('POST /api/webhooks/endpoints/{id}/pause', endpoint.id)}
    >
      Deliveries queue until you resume. You then choose what to send.
    </ConfirmButton>
  );
}

/** Sends one delivery to an endpoint that is away at once, instead of when it is tried next. */
export function TryNow({ endpoint: { id } }: OnEndpoint) {
  const change = useEndpointChange();
  const { isBusy, attempt } = useToastedAttempt();
  const resume = async (): Promise<void> => {
    await change('POST /api/webhooks/endpoints/{id}/resume', id, { backlog: 'drain' });
    showToast('Trying now.');
  };
  return (
    <Button icon={Play} onClick={() => attempt(resume)} disabled={isBusy}>
      Try now
    </Button>
  );
}

/** Asks the receiver of an account's endpoint again whether it wants webhooks. */
function Verify({ endpoint: { id } }: OnEndpoint) {
  const change = useEndpointChange();
  const { isBusy, attempt } = useToastedAttempt();
  const verify = async (): Promise<void> => {
    const { status, statusReason } = await change('POST /api/webhooks/endpoints/{id}/verify', id);
    showToast(status === 'unverified' ? `Not verified: ${statusReason}` : 'Verified.');
  };
  return (
    <Button icon={BadgeCheck} tone="primary" onClick={() => attempt(verify)} disabled={isBusy}>
      {isBusy ? 'Asking …' : 'Verify'}
    </Button>
  );
}

const choices = explainedChoicesOf<Backlog>({
  drain: { label: 'Send all of it', help: 'Oldest first, then new deliveries.' },
  'newest-first': {
    label: 'Send the newest first',
    help: 'New deliveries now, queued ones alongside, newest first.',
  },
  skip: { label: 'Cancel it', help: 'Only new deliveries are sent. Replay the rest later.' },
});

function Resume({ endpoint: { id, statusReason } }: OnEndpoint) {
  const change = useEndpointChange();
  const [backlog, setBacklog] = useState<Backlog>('drain');
  const { data: stats } = useQuery(endpointStatsQuery(id, '24h'));
  const count = stats === undefined ? '…' : waitingCount(stats);
  const isLoss = backlog === 'skip' && stats?.waiting !== 0;
  return (
    <ConfirmButton
      label="Resume …"
      button={{ icon: Play, tone: 'primary' }}
      title="Resume this endpoint?"
      action={isLoss ? `Cancel ${count} and resume` : 'Resume'}
      tone={isLoss ? 'danger' : 'primary'}
      done="Resumed."
      onConfirm={async () => change('POST /api/webhooks/endpoints/{id}/resume', id, { backlog })}
    >
      {statusReason !== '' && <p>It was stopped: {statusReason}</p>}
      <RadioList
        label={stats?.waiting === 1 ? '1 delivery waits' : `${count} deliveries wait`}
        choices={choices}
        value={backlog}
        onChange={setBacklog}
      />
    </ConfirmButton>
  );
}
