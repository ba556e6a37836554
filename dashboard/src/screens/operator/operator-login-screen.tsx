import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { basePath, Failure } from '../../api/client.ts';
import { signInAsOperator } from '../../api/operator-session.ts';
import { AttemptForm, useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Entrance } from '../../parts/entrance.tsx';
import { Notice } from '../../parts/notice.tsx';
import { PasswordField } from '../../parts/password-input.tsx';

const route = getRouteApi('/operator/login');

/** Signs in with an operator key, which this tab keeps until one signs out. */
export function OperatorLoginScreen() {
  const { next = '', expired } = route.useSearch();
  const router = useRouter();
  const [key, setKey] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  const isWithoutKeys = error instanceof Failure && error.status === 404;
  return (
    <Entrance title="Operator" lead="Sign in with an operator key.">
      {expired !== undefined && <Notice>The key is no longer valid.</Notice>}
      <AttemptForm
        error={error}
        message={isWithoutKeys ? 'There is no operator key yet. Create one on the server.' : undefined}
        onSubmit={() =>
          attempt(async () => {
            await signInAsOperator(key);
            // A path of the operator's only: a link must not send people elsewhere.
            const path = /^\/operator\/(?![/\\])/.test(next) ? next : '/operator/instances';
            router.history.push(basePath.replace(/\/$/, '') + path);
          })
        }
      >
        <PasswordField
          id="operator-key"
          label="Operator key"
          value={key}
          required
          autoFocus
          autoComplete="off"
          placeholder="co_…"
          onText={setKey}
        />
        <Button type="submit" tone="primary" disabled={isBusy} wide>
          Sign in
        </Button>
      </AttemptForm>
      <div className="operator-hint">
        <span className="soft small">Create a key on the server</span>
        <Code text="chancery operator key create NAME" />
      </div>
    </Entrance>
  );
}
