import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Send from 'lucide-react/icons/send';
import { useState } from 'react';
import { endpointActions } from '../../api/endpoints.ts';
import type { Delivery } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';

interface SendTestProps {
  readonly endpoint: string;
  /** What is sent; the event `ping` where it is left out. */
  readonly test?: Schemas['EndpointTest'];
  /** Whether it can be sent now. */
  readonly isReady?: boolean;
}

/** Sends a test once, and says in words what came of it. */
export function SendTest({ endpoint, test = {}, isReady = true }: SendTestProps) {
  const queries = useQueryClient();
  const [delivery, setDelivery] = useState<Delivery>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const send = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      setDelivery(await endpointActions(queries).test(endpoint, test));
    } catch (failure) {
      setDelivery(undefined);
      setError(failure);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <div className="send-test">
      <div>
        <Button icon={Send} tone="primary" disabled={isBusy || !isReady} onClick={() => void send()}>
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
        <section className="section" aria-label="Answer">
          <div className="section-head section-head-actions">
            <h3>What it answered</h3>
            <CopyButton text={attempt.responseBody} label="Copy the answer" />
          </div>
          <pre className="panel raw" tabIndex={0} aria-label="Answer body">
            {attempt.responseBody}
          </pre>
        </section>
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
