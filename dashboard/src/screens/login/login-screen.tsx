import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { basePath } from '../../api/client.ts';
import {
  mayUseCode,
  requestCode,
  type SignInStep,
  signInWithCode,
  signInWithKey,
  signInWithPassword,
} from '../../api/sign-in.ts';
import { AttemptForm, useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { Entrance } from '../../parts/entrance.tsx';
import { InputField } from '../../parts/labelled-field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { PasswordField } from '../../parts/password-input.tsx';
import { PortalClosed } from './portal-closed.tsx';

const route = getRouteApi('/login');

type CodeStep = Extract<SignInStep, { readonly kind: 'code' }>;

/** Signs a superuser in: with a password, with a code by mail, or with both where the service wants a second factor. */
export function LoginScreen() {
  const { next = '/', expired, with: means } = route.useSearch();
  const navigate = route.useNavigate();
  const router = useRouter();
  const [step, setStep] = useState<CodeStep>();
  const [email, setEmail] = useState('');
  const goOn = (): void => router.history.push(basePath.replace(/\/$/, '') + next);
  const follow = (reached: SignInStep): void => {
    if (reached.kind === 'done') goOn();
    else setStep(reached);
  };
  if (step !== undefined)
    return (
      <Entrance title="Check your email" lead={`If ${email} belongs to a superuser, we’ve sent a code.`}>
        <CodeForm step={step} onDone={goOn} onBack={() => setStep(undefined)} />
      </Entrance>
    );
  const chooseMeans = (chosen: 'key' | undefined): void =>
    void navigate({
      search: ({ with: _with, ...rest }) => ({ ...rest, ...(chosen !== undefined && { with: chosen }) }),
      replace: true,
    });
  if (expired === 'portal') return <PortalClosed />;
  if (means === 'key')
    return (
      <Entrance title="Sign in" lead="Use an API key. You’ll see what its scopes allow.">
        {expired !== undefined && <Notice>The key is no longer valid, or your session has ended.</Notice>}
        <ApiKeyForm onDone={goOn} onBack={() => chooseMeans(undefined)} />
      </Entrance>
    );
  return (
    <Entrance title="Sign in" lead="Use your superuser account.">
      {expired === 'link' && <Notice>The link has expired or was already used. Sign in another way.</Notice>}
      {expired !== undefined && expired !== 'link' && (
        <Notice>Your session has ended. Sign in to continue where you left off.</Notice>
      )}
      <PasswordForm email={email} onEmail={setEmail} onStep={follow} />
      <button type="button" className="link entrance-other" onClick={() => chooseMeans('key')}>
        Use an API key
      </button>
    </Entrance>
  );
}

interface PasswordFormProps {
  readonly email: string;
  readonly onEmail: (email: string) => void;
  readonly onStep: (step: SignInStep) => void;
}

function PasswordForm({ email, onEmail, onStep }: PasswordFormProps) {
  const [password, setPassword] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  const { data: isCodeEnough = false } = useQuery({
    queryKey: ['auth-methods'],
    queryFn: mayUseCode,
    retry: false,
  });
  return (
    <AttemptForm
      error={error}
      onSubmit={() => attempt(async () => onStep(await signInWithPassword(email, password)))}
    >
      <InputField
        id="email"
        label="Email"
        type="email"
        value={email}
        required
        autoFocus
        autoComplete="username"
        onText={onEmail}
      />
      <PasswordField
        id="password"
        label="Password"
        value={password}
        required
        autoComplete="current-password"
        onText={setPassword}
      />
      <Button type="submit" tone="primary" disabled={isBusy} wide>
        Sign in
      </Button>
      {isCodeEnough && (
        <Button
          tone="quiet"
          wide
          disabled={isBusy || email === ''}
          onClick={() =>
            attempt(async () => onStep({ kind: 'code', otpId: await requestCode(email), mfaId: undefined }))
          }
        >
          Email me a code
        </Button>
      )}
    </AttemptForm>
  );
}

function ApiKeyForm({ onDone, onBack }: { readonly onDone: () => void; readonly onBack: () => void }) {
  const [key, setKey] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  return (
    <AttemptForm
      error={error}
      onSubmit={() =>
        attempt(async () => {
          await signInWithKey(key);
          onDone();
        })
      }
    >
      <PasswordField
        id="key"
        label="API key"
        value={key}
        required
        autoFocus
        autoComplete="off"
        placeholder="ck_…"
        onText={setKey}
      />
      <Button type="submit" tone="primary" disabled={isBusy} wide>
        Sign in
      </Button>
      <Button tone="quiet" wide onClick={onBack}>
        Use a password
      </Button>
    </AttemptForm>
  );
}

interface CodeFormProps {
  readonly step: CodeStep;
  readonly onDone: () => void;
  readonly onBack: () => void;
}

function CodeForm({ step, onDone, onBack }: CodeFormProps) {
  const [code, setCode] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  return (
    <AttemptForm
      error={error}
      onSubmit={() =>
        attempt(async () => {
          await signInWithCode(step, code.trim());
          onDone();
        })
      }
    >
      <InputField
        id="code"
        label="Code"
        isMono
        value={code}
        required
        autoFocus
        inputMode="numeric"
        autoComplete="one-time-code"
        onText={setCode}
      />
      <Button type="submit" tone="primary" disabled={isBusy} wide>
        Sign in
      </Button>
      <Button tone="quiet" wide onClick={onBack}>
        Back
      </Button>
    </AttemptForm>
  );
}
