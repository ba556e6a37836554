import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { confirmPasswordReset, type MailedToken } from '../../api/mailed-links.ts';
import { superusersId } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { PasswordInput } from '../../parts/password-input.tsx';
import { AccountPage } from './account-page.tsx';
import { type LinkPageProps, useConfirmation } from './use-confirmation.ts';
import { UserName } from './user-name.tsx';

/** A new password, twice, as nobody sees what is typed. */
export function PasswordResetPage({ token, onOld }: LinkPageProps) {
  const [password, setPassword] = useState('');
  const [passwordConfirm, setPasswordConfirm] = useState('');
  const { submit, fields, error, isBusy, isDone } = useConfirmation(onOld, async () =>
    confirmPasswordReset(token, { password, passwordConfirm }),
  );
  if (isDone)
    return (
      <AccountPage
        isDone
        title="Your password is changed"
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
        <LabelledField id="password" label="New password" error={fields.get('password')}>
          <PasswordInput
            id="password"
            value={password}
            autoFocus
            autoComplete="new-password"
            onChange={(event) => setPassword(event.target.value)}
            {...errorAttributes('password', fields.get('password'))}
          />
        </LabelledField>
        <LabelledField
          id="passwordConfirm"
          label="The same password again"
          error={fields.get('passwordConfirm')}
        >
          <PasswordInput
            id="passwordConfirm"
            value={passwordConfirm}
            autoComplete="new-password"
            onChange={(event) => setPasswordConfirm(event.target.value)}
            {...errorAttributes('passwordConfirm', fields.get('passwordConfirm'))}
          />
        </LabelledField>
        <Button type="submit" tone="primary" wide disabled={isBusy}>
          Set the password
        </Button>
      </form>
    </AccountPage>
  );
}

/** Superusers sign in here; where accounts do, only their own site knows. */
function SignInLink({ token }: { readonly token: MailedToken }) {
  if (token.collection !== superusersId) return null;
  return (
    <Link to="/login" className="button" data-tone="primary">
      Sign in
    </Link>
  );
}
