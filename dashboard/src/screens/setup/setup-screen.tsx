import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { Failure } from '../../api/client.ts';
import { setUp } from '../../api/sign-in.ts';
import { Button } from '../../parts/button.tsx';
import { Entrance } from '../../parts/entrance.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { PasswordInput } from '../../parts/password-input.tsx';

/** Makes the first superuser, with the token that the start of the server has printed, behind the `#` of the link. */
export function SetupScreen() {
  const [token] = useState(() => location.hash.slice(1));
  if (token === '')
    return (
      <Entrance
        title="Set up"
        lead="The first superuser is made with a link that the server prints when it starts."
      >
        <Notice tone="retrying">
          This link has lost its end. It looks like <span className="mono">…/_/setup#token</span>; start the
          server again for a new one.
        </Notice>
      </Entrance>
    );
  return (
    <Entrance title="Set up Chancery" lead="Make the first superuser, who may see and change everything.">
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
  const set = (name: keyof typeof account) => ({
    name,
    id: name,
    required: true,
    value: account[name],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      setAccount({ ...account, [name]: event.target.value }),
    ...errorAttributes(name, fields.get(name)),
  });
  return (
    <form className="entrance-form" onSubmit={(event) => void submit(event)}>
      {isUsed && (
        <Notice tone="failed">
          This link is not valid any more: it works once and for 30 minutes. Start the server again for a new
          one, or sign in if there is a superuser already.
        </Notice>
      )}
      {error !== undefined && !isUsed && fields.size === 0 && <FailureNotice error={error} />}
      <LabelledField id="email" label="Email" error={fields.get('email')}>
        <input {...set('email')} type="email" className="input" autoComplete="username" autoFocus />
      </LabelledField>
      <LabelledField id="password" label="Password" error={fields.get('password')}>
        <PasswordInput {...set('password')} autoComplete="new-password" />
      </LabelledField>
      <LabelledField
        id="passwordConfirm"
        label="The same password again"
        error={fields.get('passwordConfirm')}
      >
        <PasswordInput {...set('passwordConfirm')} autoComplete="new-password" />
      </LabelledField>
      <Button type="submit" tone="primary" disabled={isBusy} wide>
        Make the superuser and sign in
      </Button>
    </form>
  );
}
