import { Link } from '@tanstack/react-router';
import Send from 'lucide-react/icons/send';
import { useState } from 'react';
import { useEndpointChange } from '../../api/endpoints.ts';
import type { Delivery } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { RawText, Section } from '../../parts/section.tsx';

interface SendTestProps {
  readonly endpoint: string;
  /** What is sent; the event `ping` where it is left out. */
  readonly test?: Schemas['EndpointTest'];
  /** Whether it can be sent now. */
  readonly isReady?: boolean;
}

/** Sends a test once, and says in words what came of it. */
export function SendTest({ endpoint, test = {}, isReady = true }: SendTestProps) {
  const change = useEndpointChange();
  const [delivery, setDelivery] = useState<Delivery>();
  const { error, isBusy, attempt } = useAttempt();
  const send = (): void =>
    attempt(async () => {
      setDelivery(undefined);
      setDelivery(await change('POST /api/webhooks/endpoints/{id}/test', endpoint, test));
    });
  return (
    <div className="send-test">
      <div>
        <Button icon={Send} tone="primary" disabled={isBusy || !isReady} onClick={send}>
          {isBusy ? 'Sending …' : 'Send test'}
        </Button>
      </div>
      {error !== undefined && <FailureNotice error={error} />}
      {delivery !== undefined && <Outcome delivery={delivery} />}
    </div>
  );
}

function Outcome({ delivery }: { readonly delivery: Delivery }) {
  const attempt = delivery.attempts.at(-1);
  const isDelivered = delivery.status === 'delivered';
  const milliseconds = attempt === undefined ? '' : ` in ${Math.max(1, Math.round(attempt.totalMs))} ms`;
  return (
    <div aria-live="polite" className="section">
      <Notice tone={isDelivered ? 'ok' : 'failed'}>
        {isDelivered
          ? `Delivered: the receiver answered ${attempt?.status ?? ''}${milliseconds}.`
          : `Not delivered: ${delivery.cause} ${adviceOf(attempt?.kind)}`}{' '}
        <Link className="link" to="/deliveries/$id" params={{ id: delivery.id }}>
          View request and response
        </Link>
      </Notice>
      {attempt?.responseBody !== undefined && attempt.responseBody !== '' && (
        <Section
          level={3}
          label="Answer"
          title="What it answered"
          actions={<CopyButton text={attempt.responseBody} label="Copy the answer" />}
        >
          <RawText label="Answer body" text={attempt.responseBody} />
        </Section>
      )}
    </div>
  );
}

/** What to do about a failure, where the cause alone does not say it. */
function adviceOf(kind: Delivery['attempts'][number]['kind'] | undefined): string {
  switch (kind) {
    case 'timeout':
      return 'Respond first, then do the work.';
    case 'dns':
      return 'Check the host name in the URL.';
    case 'connect':
      return 'Check that the receiver is running and listens on this port.';
    case 'tls':
      return 'Check its certificate: it must be valid for this name.';
    case 'refused':
      return 'Only public addresses are allowed, unless the operator allows others.';
    default:
      return '';
  }
}
