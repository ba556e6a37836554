import { useLocation, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import {
  confirmMailed,
  type MailedAction,
  mailedActions,
  type MailedToken,
  readMailedToken,
} from '../../api/mailed-links.ts';
import { Button } from '../../parts/button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { AccountPage } from './account-page.tsx';
import { EmailChangePage } from './email-change-page.tsx';
import { LostLinkPage, OldLinkPage } from './old-link-page.tsx';
import { PasswordResetPage } from './password-reset-page.tsx';
import { type LinkPageProps, useConfirmation } from './use-confirmation.ts';

/** Where the links in mails to accounts lead: `/_/auth/confirm-…#token`, or with the token as the last part of the path. */
export function AccountScreen() {
  const { action: name = '', token: inPath = '' } = useParams({ strict: false });
  const { hash } = useLocation();
  const action = mailedActions.find((one) => one === name);
  const token = readMailedToken(inPath === '' ? hash : inPath);
  if (action === undefined || token === undefined) return <LostLinkPage />;
  return <LinkPage key={token.text} action={action} token={token} />;
}

/** The clocks of people are some minutes off. */
const leewayMs = 5 * 60_000;

function LinkPage({ action, token }: { readonly action: MailedAction; readonly token: MailedToken }) {
  // Told before anybody types anything. Only the service knows it for sure, as this clock may be wrong.
  const [isOld, setIsOld] = useState(() => token.expires.getTime() + leewayMs < Date.now());
  const refuse = (): void => setIsOld(true);
  if (isOld) return <OldLinkPage action={action} token={token} />;
  if (action === 'confirm-password-reset') return <PasswordResetPage token={token} onOld={refuse} />;
  if (action === 'confirm-email-change') return <EmailChangePage token={token} onOld={refuse} />;
  return <VerificationPage token={token} onOld={refuse} />;
}

/** Waits for a click: programs that look at links in mails open them, and nobody but the owner should verify an address. */
function VerificationPage({ token, onOld }: LinkPageProps) {
  const { submit, error, isBusy, isDone } = useConfirmation(onOld, async () =>
    confirmMailed('confirm-verification', token),
  );
  if (isDone)
    return (
      <AccountPage
        isDone
        title="Email address verified"
        lead={`${token.email} is verified. You can close this page.`}
      />
    );
  return (
    <AccountPage
      title="Verify your email address"
      lead={`Confirm that ${token.email} belongs to you and that you signed up here.`}
    >
      {error !== undefined && <FailureNotice error={error} />}
      <Button tone="primary" wide autoFocus disabled={isBusy} onClick={() => submit()}>
        Verify email address
      </Button>
      <Notice>If you didn’t sign up, close this page. Nothing will change.</Notice>
    </AccountPage>
  );
}
