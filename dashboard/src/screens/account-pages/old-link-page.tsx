import { useState } from 'react';
import { type MailedAction, type MailedToken, requestAnother } from '../../api/mailed-links.ts';
import { Button } from '../../parts/button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { AccountPage } from './account-page.tsx';

/** A link that is not whole, or of something else. */
export function LostLinkPage() {
  return (
    <AccountPage
      title="This link is not complete"
      lead="A part of it was lost on the way. Open it from the mail once more, or copy all of it into the address bar."
    />
  );
}

const reasons: Readonly<Record<MailedAction, string>> = {
  'confirm-verification': 'It has expired, or your address or password has changed since it was sent.',
  'confirm-password-reset':
    'It has expired, or a password was set with it already. Links like this work once.',
  'confirm-email-change':
    'It has expired, was used already, or your account has changed since. Ask for the change of your address once more where you are signed in.',
};

interface OldLinkPageProps {
  readonly action: MailedAction;
  readonly token: MailedToken;
}

/** A link that works no more, and how to get one that does. */
export function OldLinkPage({ action, token }: OldLinkPageProps) {
  const [state, setState] = useState<'asking' | 'busy' | 'sent'>('asking');
  const [error, setError] = useState<unknown>();
  const again = action === 'confirm-email-change' || token.email === '' ? undefined : action;
  const send = async (): Promise<void> => {
    if (again === undefined) return;
    setState('busy');
    setError(undefined);
    try {
      await requestAnother(again, token);
      setState('sent');
    } catch (failure) {
      setError(failure);
      setState('asking');
    }
  };
  return (
    <AccountPage title="This link does not work any more" lead={reasons[action]}>
      {error !== undefined && <FailureNotice error={error} />}
      {state === 'sent' && (
        <Notice tone="ok">
          {action === 'confirm-verification'
            ? `If ${token.email} is still to be verified, a new link is on its way.`
            : `If there is an account with ${token.email}, a new link is on its way.`}
        </Notice>
      )}
      {again !== undefined && state !== 'sent' && (
        <Button tone="primary" wide disabled={state === 'busy'} onClick={() => void send()}>
          Send me a new link
        </Button>
      )}
    </AccountPage>
  );
}
