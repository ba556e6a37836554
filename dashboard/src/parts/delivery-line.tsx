import { Link } from '@tanstack/react-router';
import type { Delivery, Surroundings } from '../api/events.ts';
import { mayChangeWebhooks } from '../api/session.ts';
import { AttemptLine } from './attempt-line.tsx';
import { Countdown } from './countdown.tsx';
import { DeliveryBadge } from './delivery-badge.tsx';
import { explainDelivery } from './delivery-words.ts';
import { endpointLabel } from './endpoint-words.ts';
import { Resend } from './resend.tsx';

interface DeliveryLineProps {
  readonly delivery: Delivery;
  readonly surroundings: Surroundings | undefined;
}

/** One event on its way to one endpoint: how far it has come, and why not further. */
export function DeliveryLine({ delivery, surroundings }: DeliveryLineProps) {
  const { id, endpoint } = delivery;
  const { tone, title, brief, next } = explainDelivery(delivery, surroundings);
  const target = surroundings?.endpoints.get(endpoint);
  const isStopped = delivery.status === 'pending' && target !== undefined && target.status !== 'active';
  return (
    <li className="endpoint-line" data-tone={tone}>
      <div className="endpoint-line-head">
        <DeliveryBadge tone={tone} text={title} />
        <Link className="link cut" to="/deliveries/$id" params={{ id }} title={target?.url}>
          {endpointLabel(endpoint, surroundings)}
        </Link>
      </div>
      <div className="endpoint-line-actions">
        {isStopped && mayChangeWebhooks() ? (
          <Link className="link" to="/webhooks/$id" params={{ id: endpoint }}>
            Resume endpoint
          </Link>
        ) : (
          <Resend deliveries={[delivery]} surroundings={surroundings} />
        )}
      </div>
      {(brief !== '' || delivery.attempts.length > 0) && (
        <p className="endpoint-line-facts">
          {brief !== '' && `${brief} `}
          <span className="soft">
            <AttemptLine delivery={delivery} />
            {next !== '' && (
              <>
                {' · next try '}
                <Countdown until={next} />
              </>
            )}
          </span>
        </p>
      )}
    </li>
  );
}
