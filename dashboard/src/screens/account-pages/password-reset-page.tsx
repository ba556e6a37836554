import { useState } from 'react';
import { confirmMailed, type MailedToken } from '../../api/mailed-links.ts';
import { superusersId } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { LinkButton } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { NewPassword } from '../../parts/password-input.tsx';
import { AccountPage } from './account-page.tsx';
import { type LinkPageProps, useConfirmation } from './use-confirmation.ts';
import { UserName } from './user-name.tsx';

/** A new password, twice, as nobody sees what is typed. */
export function PasswordResetPage({ token, onOld }: LinkPageProps) {
  const [passwords, setPasswords] = useState({ password: '', passwordConfirm: '' });
  const { submit, fields, error, isBusy, isDone } = useConfirmation(onOld, async () =>
    confirmMailed('confirm-password-reset', token, passwords),
  );
  if (isDone)
    return (
      <AccountPage
        isDone
        title="Password changed"
        lead="You were signed out everywhere. Sign in with the new password."
      >
        <SignInLink token={token} />
      </AccountPage>
    );
  return (
    <AccountPage title="Choose a new password" lead={`For the account of ${token.email}.`}>
      <form className="entrance-form" noValidate onSubmit={submit}>
        {error !== undefined && <FailureNotice error={error} />}
        <UserName token={token} />
        <NewPassword
          label="New password"
          autoFocus
          value={passwords}
          errors={fields}
          onChange={setPasswords}
        />
        <Button type="submit" tone="primary" wide disabled={isBusy}>
          Change password
        </Button>
      </form>
    </AccountPage>
  );
}

/** Superusers sign in here; where accounts do, only their own site knows. */
function SignInLink({ token }: { readonly token: MailedToken }) {
  if (token.collection !== superusersId) return null;
  return (
    <LinkButton link={{ to: '/login' }} tone="primary">
      Sign in
    </LinkButton>
  );
}
