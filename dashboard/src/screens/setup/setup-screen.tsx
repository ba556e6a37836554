import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { Failure } from '../../api/client.ts';
import { setUp } from '../../api/sign-in.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { Entrance } from '../../parts/entrance.tsx';
import { InputField } from '../../parts/labelled-field.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { NewPassword } from '../../parts/password-input.tsx';

/** Creates the first superuser, with the token that the server printed at its start, behind the `#` of the link. */
export function SetupScreen() {
  const [token] = useState(() => location.hash.slice(1));
  if (token === '')
    return (
      <Entrance title="Set up Chancery" lead="Open the setup link that the server prints when it starts.">
        <Notice tone="retrying">
          This link is incomplete. It looks like <span className="mono">…/_/setup#token</span>. Restart the
          server for a new one.
        </Notice>
      </Entrance>
    );
  return (
    <Entrance title="Set up Chancery" lead="Create your admin account. It has full access.">
      <SetupForm token={token} />
    </Entrance>
  );
}

function SetupForm({ token }: { readonly token: string }) {
  const navigate = useNavigate();
  const [account, setAccount] = useState({ email: '', password: '', passwordConfirm: '' });
  const { error, isBusy, attempt } = useAttempt();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    attempt(async () => {
      await setUp({ token, ...account });
      await navigate({ to: '/overview', replace: true });
    });
  };
  const fields = error instanceof Failure ? error.fields : new Map<string, string>();
  const isUsed = error instanceof Failure && error.status === 403;
  return (
    <form className="entrance-form" onSubmit={submit}>
      {isUsed && (
        <Notice tone="failed">
          This link has expired: it works once, for 30 minutes. Restart the server for a new one, or sign in
          if an admin account exists.
        </Notice>
      )}
      {error !== undefined && !isUsed && fields.size === 0 && <FailureNotice error={error} />}
      <InputField
        id="email"
        label="Email"
        error={fields.get('email')}
        name="email"
        type="email"
        required
        autoFocus
        autoComplete="username"
        value={account.email}
        onText={(email) => setAccount({ ...account, email })}
      />
      <NewPassword
        label="Password"
        help="At least 8 characters."
        value={account}
        errors={fields}
        onChange={(passwords) => setAccount({ ...account, ...passwords })}
      />
      <Button type="submit" tone="primary" disabled={isBusy} wide>
        Create account
      </Button>
    </form>
  );
}
