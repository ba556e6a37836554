import { useState } from 'react';
import { confirmMailed } from '../../api/mailed-links.ts';
import { Button } from '../../parts/button.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { PasswordField } from '../../parts/password-input.tsx';
import { AccountPage } from './account-page.tsx';
import { type LinkPageProps, useConfirmation } from './use-confirmation.ts';
import { UserName } from './user-name.tsx';

/** A new address, which the owner confirms with the password: the mailbox alone is not enough. */
export function EmailChangePage({ token, onOld }: LinkPageProps) {
  const [password, setPassword] = useState('');
  const { submit, fields, error, isBusy, isDone } = useConfirmation(onOld, async () =>
    confirmMailed('confirm-email-change', token, { password }),
  );
  if (isDone)
    return (
      <AccountPage
        isDone
        title="Email address changed"
        lead={`It is now ${token.newEmail}. You were signed out everywhere. Sign in with the new address.`}
      />
    );
  return (
    <AccountPage
      title="Confirm your new email address"
      lead={`Your account’s address changes from ${token.email} to ${token.newEmail}.`}
    >
      <form className="entrance-form" noValidate onSubmit={submit}>
        {error !== undefined && <FailureNotice error={error} />}
        <UserName token={token} />
        <PasswordField
          id="password"
          label="Your password"
          error={fields.get('password')}
          value={password}
          autoFocus
          autoComplete="current-password"
          onText={setPassword}
        />
        <Button type="submit" tone="primary" wide disabled={isBusy}>
          Change email address
        </Button>
      </form>
    </AccountPage>
  );
}
