import { useQueryClient } from '@tanstack/react-query';
import Send from 'lucide-react/icons/send';
import { sendAgain } from '../api/deliveries.ts';
import type { Delivery, Surroundings } from '../api/events.ts';
import { mayChangeWebhooks } from '../api/session.ts';
import { ConfirmButton } from './confirm.tsx';
import { deliveries as countOf } from './delivery-words.ts';
import { plural } from './time.tsx';

interface ResendProps {
  readonly deliveries: readonly Delivery[];
  readonly surroundings: Surroundings | undefined;
  readonly label?: string;
}

/** Sends deliveries again, after saying how many there are and where they go. */
export function Resend({ deliveries, surroundings, label = 'Resend …' }: ResendProps) {
  const queries = useQueryClient();
  // What goes to an endpoint that was deleted since would be refused.
  const possible = deliveries.filter(({ endpoint }) => surroundings?.endpoints.has(endpoint) === true);
  if (deliveries.length === 0 || !mayChangeWebhooks()) return null;
  const count = countOf(possible.length);
  const isImpossible = possible.length === 0;
  return (
    <ConfirmButton
      label={label}
      button={{
        icon: Send,
        disabled: isImpossible,
        title: isImpossible ? 'The endpoint was deleted.' : undefined,
      }}
      title={`Send ${count} again?`}
      action={`Send ${count}`}
      tone="primary"
      done={`${count} sent again.`}
      onConfirm={async () => {
        const ids = possible.map(({ id }) => id);
        await sendAgain(queries, ids);
      }}
    >
      {count} to {plural(endpointCount(possible), 'endpoint')}, under the same{' '}
      <span className="mono">webhook-id</span>, so the receiver can detect duplicates.
      <ul className="resend-list">
        {possible.slice(0, shownMax).map(({ id, endpoint }) => (
          <li key={id} className="mono cut">
            {surroundings?.endpoints.get(endpoint)?.url ?? endpoint}
          </li>
        ))}
        {possible.length > shownMax && <li>and {possible.length - shownMax} more</li>}
      </ul>
    </ConfirmButton>
  );
}

const shownMax = 5;

function endpointCount(deliveries: readonly Delivery[]): number {
  return new Set(deliveries.map(({ endpoint }) => endpoint)).size;
}
