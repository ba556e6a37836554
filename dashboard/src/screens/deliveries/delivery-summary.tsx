import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Ban from 'lucide-react/icons/ban';
import Zap from 'lucide-react/icons/zap';
import { cancelDelivery, sendAgain } from '../../api/deliveries.ts';
import type { Delivery, Surroundings } from '../../api/events.ts';
import { mayChangeWebhooks } from '../../api/session.ts';
import { useKeys } from '../../browser/keys.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { AttemptLine } from '../../parts/attempt-line.tsx';
import { Button } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Countdown } from '../../parts/countdown.tsx';
import { DeliveryBadge } from '../../parts/delivery-badge.tsx';
import type { Explanation } from '../../parts/delivery-words.ts';
import { endpointLabel } from '../../parts/endpoint-words.ts';
import { Facts } from '../../parts/facts.tsx';
import { Key } from '../../parts/key.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { RecordLink } from '../../parts/record-link.tsx';
import { Resend } from '../../parts/resend.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';

interface DeliverySummaryProps {
  readonly delivery: Delivery;
  readonly explanation: Explanation;
  readonly surroundings: Surroundings | undefined;
}

/** How it stands and why, in words, with what can be done about it. */
export function DeliverySummary({ delivery, explanation, surroundings }: DeliverySummaryProps) {
  const { collection, record, endpoint, created } = delivery;
  const { tone, title, reason, next } = explanation;
  return (
    <div className="delivery-summary panel" data-tone={tone}>
      <div className="delivery-verdict">
        <DeliveryBadge tone={tone} text={title} />
        {next !== '' && (
          <span className="soft">
            next try <Countdown until={next} />
          </span>
        )}
      </div>
      {reason !== '' && <p className="delivery-reason">{reason}</p>}
      <Facts
        items={{
          To: <Target id={endpoint} surroundings={surroundings} />,
          Record: collection !== '' && (
            <RecordLink className="link" collection={collection} record={record}>
              {collection} / <span className="mono">{record}</span>
            </RecordLink>
          ),
          Event: (
            <>
              <Link className="link mono" to="/events/$id" params={{ id: delivery.event }}>
                {delivery.event}
              </Link>{' '}
              <span className="soft">
                <Time value={created} />
              </span>
            </>
          ),
          'So far': <AttemptLine delivery={delivery} />,
        }}
      />
      {mayChangeWebhooks() && <Actions delivery={delivery} surroundings={surroundings} />}
    </div>
  );
}

interface TargetProps {
  readonly id: string;
  readonly surroundings: Surroundings | undefined;
}

/** The endpoint, and where it is if that is not what it is called. */
function Target({ id, surroundings }: TargetProps) {
  const label = endpointLabel(id, surroundings);
  const target = surroundings?.endpoints.get(id);
  if (target === undefined) return <span className="mono">{label}</span>;
  return (
    <>
      <Link className={label === target.url ? 'link mono' : 'link'} to="/webhooks/$id" params={{ id }}>
        {label}
      </Link>
      {label !== target.url && <div className="mono soft">{target.url}</div>}
    </>
  );
}

function Actions({ delivery, surroundings }: Omit<DeliverySummaryProps, 'explanation'>) {
  const queries = useQueryClient();
  const { error, attempt } = useAttempt();
  const isPending = delivery.status === 'pending';
  const retry = (): void =>
    attempt(async () => {
      await sendAgain(queries, [delivery.id]);
      showToast('Due now.');
    });
  useKeys({ r: () => isPending && retry() });
  return (
    <>
      {error !== undefined && <FailureNotice error={error} />}
      <div className="delivery-actions">
        {isPending ? (
          <>
            <Button icon={Zap} tone="primary" onClick={retry}>
              Retry now <Key keys="R" />
            </Button>
            <ConfirmButton
              label="Cancel …"
              button={{ icon: Ban }}
              title="Cancel this delivery?"
              action="Cancel the delivery"
              onConfirm={async () => cancelDelivery(queries, delivery.id)}
            >
              This endpoint won’t receive the event. You can resend it later.
            </ConfirmButton>
          </>
        ) : (
          <Resend deliveries={[delivery]} surroundings={surroundings} />
        )}
      </div>
    </>
  );
}
