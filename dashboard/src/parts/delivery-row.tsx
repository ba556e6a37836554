import { Link } from '@tanstack/react-router';
import type { Delivery, Surroundings } from '../api/events.ts';
import { AttemptLine } from './attempt-line.tsx';
import { Countdown } from './countdown.tsx';
import { DeliveryBadge } from './delivery-badge.tsx';
import { explainDelivery } from './delivery-words.ts';
import { endpointLabel } from './endpoint-words.ts';
import { Resend } from './resend.tsx';

interface DeliveryRowProps {
  readonly delivery: Delivery;
  readonly surroundings: Surroundings | undefined;
}

/** One event on its way to one endpoint: where to, how far it has come, and why not further. */
export function DeliveryRow({ delivery, surroundings }: DeliveryRowProps) {
  const { id, endpoint } = delivery;
  const { tone, title, reason, next } = explainDelivery(delivery, surroundings);
  const target = surroundings?.endpoints.get(endpoint);
  return (
    <li className="delivery-row" data-tone={tone}>
      <div className="delivery-row-head">
        <DeliveryBadge tone={tone} text={title} />
        <Link className="link delivery-row-url cut" to="/deliveries/$id" params={{ id }} title={target?.url}>
          {endpointLabel(endpoint, surroundings)}
        </Link>
      </div>
      <p className="delivery-row-facts">
        <AttemptLine delivery={delivery} />
        {next !== '' && (
          <>
            {' · next try '}
            <Countdown until={next} />
          </>
        )}
      </p>
      {reason !== '' && <p className="delivery-row-reason">{reason}</p>}
      <div className="delivery-row-actions">
        <Link className="button" to="/deliveries/$id" params={{ id }}>
          Attempts
        </Link>
        <Resend deliveries={[delivery]} surroundings={surroundings} />
      </div>
    </li>
  );
}
