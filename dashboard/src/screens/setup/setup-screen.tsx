import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { Failure } from '../../api/client.ts';
import { setUp } from '../../api/sign-in.ts';
import { Button } from '../../parts/button.tsx';
import { Entrance } from '../../parts/entrance.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
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
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setIsBusy(true);
    setError(undefined);
    try {
      await setUp({ token, ...account });
      await navigate({ to: '/overview', replace: true });
    } catch (failure) {
      setError(failure);
      setIsBusy(false);
    }
  };
  const fields = error instanceof Failure ? error.fields : new Map<string, string>();
  const isUsed = error instanceof Failure && error.status === 403;
  return (
    <form className="entrance-form" onSubmit={(event) => void submit(event)}>
      {isUsed && (
        <Notice tone="failed">
          This link has expired: it works once, for 30 minutes. Restart the server for a new one, or sign in
          if an admin account exists.
        </Notice>
      )}
      {error !== undefined && !isUsed && fields.size === 0 && <FailureNotice error={error} />}
      <LabelledField id="email" label="Email" error={fields.get('email')}>
        <input
          id="email"
          name="email"
          type="email"
          className="input"
          required
          autoFocus
          autoComplete="username"
          value={account.email}
          onChange={(event) => setAccount({ ...account, email: event.target.value })}
          {...errorAttributes('email', fields.get('email'))}
        />
      </LabelledField>
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
