import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import Info from 'lucide-react/icons/info';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import type { ReactNode } from 'react';
import { Failure } from '../api/client.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';

export type Tone = 'plain' | 'ok' | 'retrying' | 'failed';

const icons = { plain: Info, ok: CircleCheck, retrying: TriangleAlert, failed: CircleAlert };

/** Something to know, beside what it is about. Each tone has a shape of its own, as not everybody sees colours. */
export function Notice({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  const Icon = icons[tone];
  return (
    <div className="notice" data-tone={tone} role={tone === 'failed' ? 'alert' : undefined}>
      <Icon size={15} aria-hidden />
      <div className="notice-body">{children}</div>
    </div>
  );
}

/** Why something has failed, in the words of the service, with the id of the request, which its log has too. */
export function FailureNotice({
  error,
  message,
  onRetry,
}: {
  readonly error: unknown;
  /** Instead of the words of the service, where they are about something else. */
  readonly message?: string | undefined;
  readonly onRetry?: (() => void) | undefined;
}) {
  const requestId = error instanceof Failure ? error.requestId : '';
  return (
    <Notice tone="failed">
      {message ?? messageOf(error)}
      {requestId !== '' && (
        <div className="notice-request">
          Request <span className="mono">{requestId}</span>
          <CopyButton text={requestId} label="Copy request ID" />
        </div>
      )}
      {onRetry !== undefined && (
        <div className="notice-actions">
          <Button onClick={onRetry}>Try again</Button>
        </div>
      )}
    </Notice>
  );
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
