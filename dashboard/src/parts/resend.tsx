import { useQueryClient } from '@tanstack/react-query';
import Send from 'lucide-react/icons/send';
import { useState } from 'react';
import { sendAgain } from '../api/deliveries.ts';
import type { Delivery, Surroundings } from '../api/events.ts';
import { mayChangeWebhooks } from '../api/session.ts';
import { Button } from './button.tsx';
import { Confirm } from './confirm.tsx';
import { deliveries as countOf } from './delivery-words.ts';
import { plural } from './time.tsx';
import { showToast } from './toast.tsx';

interface ResendProps {
  readonly deliveries: readonly Delivery[];
  readonly surroundings: Surroundings | undefined;
  readonly label?: string;
}

/** Sends deliveries again, after saying how many there are and where they go. */
export function Resend({ deliveries, surroundings, label = 'Resend …' }: ResendProps) {
  const [isOpen, setIsOpen] = useState(false);
  const queries = useQueryClient();
  // What goes to an endpoint that was deleted since would be refused.
  const possible = deliveries.filter(({ endpoint }) => surroundings?.endpoints.has(endpoint) === true);
  if (deliveries.length === 0 || !mayChangeWebhooks()) return null;
  return (
    <>
      <Button
        icon={Send}
        disabled={possible.length === 0}
        title={possible.length === 0 ? 'The endpoint was deleted.' : undefined}
        onClick={() => setIsOpen(true)}
      >
        {label}
      </Button>
      {isOpen && (
        <Confirm
          title={`Send ${countOf(possible.length)} again?`}
          action={`Send ${countOf(possible.length)}`}
          tone="primary"
          onClose={() => setIsOpen(false)}
          onConfirm={async () => {
            await sendAgain(
              queries,
              possible.map(({ id }) => id),
            );
            showToast(`${countOf(possible.length)} sent again.`);
          }}
        >
          {countOf(possible.length)} to {plural(endpointCount(possible), 'endpoint')}, under the same{' '}
          <span className="mono">webhook-id</span>, so the receiver can detect duplicates.
          <ul className="resend-list">
            {possible.slice(0, shownMax).map(({ id, endpoint }) => (
              <li key={id} className="mono cut">
                {surroundings?.endpoints.get(endpoint)?.url ?? endpoint}
              </li>
            ))}
            {possible.length > shownMax && <li>and {possible.length - shownMax} more</li>}
          </ul>
        </Confirm>
      )}
    </>
  );
}

const shownMax = 5;

function endpointCount(deliveries: readonly Delivery[]): number {
  return new Set(deliveries.map(({ endpoint }) => endpoint)).size;
}
