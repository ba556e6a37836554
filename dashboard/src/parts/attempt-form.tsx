import { useState, type FormEvent, type ReactNode } from 'react';
import { FailureNotice, messageOf } from './notice.tsx';
import { showToast } from './toast.tsx';

interface AttemptFormProps {
  readonly error: unknown;
  /** Instead of the words of the service. */
  readonly message?: string | undefined;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}

/** A form of a page in front of the shell, with why its last attempt has failed. */
export function AttemptForm({ error, message, onSubmit, children }: AttemptFormProps) {
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form className="entrance-form" onSubmit={submit}>
      {error !== undefined && <FailureNotice error={error} message={message} />}
      {children}
    </form>
  );
}

/** Runs one attempt at a time and keeps why the last one has failed. */
export function useAttempt() {
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const attempt = (work: () => Promise<unknown>): void => {
    setIsBusy(true);
    setError(undefined);
    work()
      .catch(setError)
      .finally(() => setIsBusy(false));
  };
  return { error, isBusy, attempt, forget: () => setError(undefined) };
}

/** The same where the failure has no place of its own on the page. */
export function useToastedAttempt() {
  const { isBusy, attempt } = useAttempt();
  return {
    isBusy,
    attempt: (work: () => Promise<unknown>): void =>
      attempt(async () => work().catch((error: unknown) => showToast(messageOf(error), 'failed'))),
  };
}
