import { useState, type FormEvent } from 'react';
import { Failure } from '../../api/client.ts';
import type { MailedToken } from '../../api/mailed-links.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';

export interface LinkPageProps {
  readonly token: MailedToken;
  /** The service does not take the token: it has expired, was used, or something has changed since. */
  readonly onOld: () => void;
}

/** Sends what was typed, once at a time. `submit` also serves a button, which has no form. */
export function useConfirmation(onOld: () => void, confirm: () => Promise<void>) {
  const { error, isBusy, attempt } = useAttempt();
  const [isDone, setIsDone] = useState(false);
  const run = async (): Promise<void> => {
    try {
      await confirm();
      setIsDone(true);
    } catch (failure) {
      // It is the token that is refused, and not what was typed.
      if (!(failure instanceof Failure && failure.fields.has('token'))) throw failure;
      onOld();
    }
  };
  const fields = error instanceof Failure ? error.fields : new Map<string, string>();
  return {
    submit: (event?: FormEvent): void => {
      event?.preventDefault();
      attempt(run);
    },
    fields,
    error: fields.size === 0 ? error : undefined,
    isBusy,
    isDone,
  };
}
