import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import BadgeCheck from 'lucide-react/icons/badge-check';
import Pause from 'lucide-react/icons/pause';
import Play from 'lucide-react/icons/play';
import { useState } from 'react';
import { explainedChoicesOf } from '../../api/members-of.ts';
import { type Backlog, endpointActions, endpointStatsQuery } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { RadioList } from '../../parts/radio-list.tsx';
import { showToast } from '../../parts/toast.tsx';
import { waitingCount } from '../../parts/percent.ts';

/** Holds an endpoint, or lets it go on: then with a choice what becomes of what has waited. One that is not verified can only be that. */
export function PauseResume({ endpoint }: { readonly endpoint: Endpoint }) {
  const [isOpen, setIsOpen] = useState(false);
  const isActive = endpoint.status === 'active';
  const close = (): void => setIsOpen(false);
  if (endpoint.status === 'unverified') return <Verify endpoint={endpoint} />;
  return (
    <>
      <Button tone={isActive ? 'plain' : 'primary'} onClick={() => setIsOpen(true)}>
        {isActive ? <Pause size={14} aria-hidden /> : <Play size={14} aria-hidden />}
        {isActive ? 'Pause …' : 'Resume …'}
      </Button>
      {isOpen && isActive && <PauseDialog endpoint={endpoint} onClose={close} />}
      {isOpen && !isActive && <ResumeDialog endpoint={endpoint} onClose={close} />}
    </>
  );
}

/** Sends one delivery to an endpoint that is away at once, instead of when it is tried next. */
export function TryNow({ endpoint }: { readonly endpoint: Endpoint }) {
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => endpointActions(queries).resume(endpoint.id, 'drain'),
    onSuccess: () => showToast('Trying now.'),
    onError: (error) => showToast(error.message),
  });
  return (
    <Button icon={Play} onClick={() => mutate()} disabled={isPending}>
      Try now
    </Button>
  );
}

/** Asks the receiver of an account's endpoint again whether it wants webhooks. */
function Verify({ endpoint }: { readonly endpoint: Endpoint }) {
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => endpointActions(queries).verify(endpoint.id),
    onSuccess: ({ status, statusReason }) =>
      showToast(status === 'unverified' ? `Not verified: ${statusReason}` : 'Verified.'),
    onError: (error) => showToast(error.message),
  });
  return (
    <Button icon={BadgeCheck} tone="primary" onClick={() => mutate()} disabled={isPending}>
      {isPending ? 'Asking …' : 'Verify'}
    </Button>
  );
}

interface DialogProps {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
}

function PauseDialog({ endpoint, onClose }: DialogProps) {
  const queries = useQueryClient();
  return (
    <Confirm
      title="Pause this endpoint?"
      action="Pause"
      tone="primary"
      onClose={onClose}
      onConfirm={async () => {
        await endpointActions(queries).pause(endpoint.id);
        showToast('Paused. Its deliveries are collected.');
      }}
    >
      Deliveries queue until you resume. You then choose what to send.
    </Confirm>
  );
}

const choices = explainedChoicesOf<Backlog>({
  drain: { label: 'Send all of it', help: 'Oldest first, then new deliveries.' },
  'newest-first': {
    label: 'Send the newest first',
    help: 'New deliveries now, queued ones alongside, newest first.',
  },
  skip: {
    label: 'Cancel it',
    help: 'Only new deliveries are sent. Replay the rest later.',
  },
});

function ResumeDialog({ endpoint, onClose }: DialogProps) {
  const queries = useQueryClient();
  const [backlog, setBacklog] = useState<Backlog>('drain');
  const { data: stats } = useQuery(endpointStatsQuery(endpoint.id, '24h'));
  const count = stats === undefined ? '…' : waitingCount(stats);
  return (
    <Confirm
      title="Resume this endpoint?"
      action={backlog === 'skip' && stats?.waiting !== 0 ? `Cancel ${count} and resume` : 'Resume'}
      tone={backlog === 'skip' && stats?.waiting !== 0 ? 'danger' : 'primary'}
      onClose={onClose}
      onConfirm={async () => {
        await endpointActions(queries).resume(endpoint.id, backlog);
        showToast('Resumed.');
      }}
    >
      {endpoint.statusReason !== '' && <p>It was stopped: {endpoint.statusReason}</p>}
      <RadioList
        label={stats?.waiting === 1 ? '1 delivery waits' : `${count} deliveries wait`}
        choices={choices}
        value={backlog}
        onChange={setBacklog}
      />
    </Confirm>
  );
}
