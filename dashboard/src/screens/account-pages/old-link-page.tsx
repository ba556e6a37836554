import { useState } from 'react';
import { type MailedAction, type MailedToken, requestAnother } from '../../api/mailed-links.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { AccountPage } from './account-page.tsx';

/** A link that is not whole, or of something else. */
export function LostLinkPage() {
  return (
    <AccountPage
      title="This link is incomplete"
      lead="Open it from the email again, or copy the whole link into the address bar."
    />
  );
}

const reasons: Readonly<Record<MailedAction, string>> = {
  'confirm-verification': 'It has expired, or your email address or password changed after it was sent.',
  'confirm-password-reset': 'It has expired or was already used. Each link works once.',
  'confirm-email-change':
    'It has expired, was already used, or your account has changed since. Sign in and request the change again.',
};

interface OldLinkPageProps {
  readonly action: MailedAction;
  readonly token: MailedToken;
}

/** A link that works no more, and how to get one that does. */
export function OldLinkPage({ action, token }: OldLinkPageProps) {
  const [isSent, setIsSent] = useState(false);
  const { error, isBusy, attempt } = useAttempt();
  const again = action === 'confirm-email-change' || token.email === '' ? undefined : action;
  return (
    <AccountPage title="This link no longer works" lead={reasons[action]}>
      {error !== undefined && <FailureNotice error={error} />}
      {isSent && (
        <Notice tone="ok">
          {action === 'confirm-verification'
            ? `If ${token.email} is not verified yet, we’ve sent a new link.`
            : `If ${token.email} has an account, we’ve sent a new link.`}
        </Notice>
      )}
      {again !== undefined && !isSent && (
        <Button
          tone="primary"
          wide
          disabled={isBusy}
          onClick={() =>
            attempt(async () => {
              await requestAnother(again, token);
              setIsSent(true);
            })
          }
        >
          Send a new link
        </Button>
      )}
    </AccountPage>
  );
}
