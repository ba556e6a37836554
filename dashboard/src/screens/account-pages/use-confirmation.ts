import { useState, type FormEvent } from 'react';
import { Failure } from '../../api/client.ts';
import type { MailedToken } from '../../api/mailed-links.ts';

export interface LinkPageProps {
  readonly token: MailedToken;
  /** The service does not take the token: it has expired, was used, or something has changed since. */
  readonly onOld: () => void;
}

/** Sends what was typed, once at a time. `submit` also serves a button, which has no form. */
export function useConfirmation(onOld: () => void, confirm: () => Promise<void>) {
  const [error, setError] = useState<unknown>();
  const [state, setState] = useState<'asking' | 'busy' | 'done'>('asking');
  const run = async (): Promise<void> => {
    setState('busy');
    setError(undefined);
    try {
      await confirm();
      setState('done');
    } catch (failure) {
      // It is the token that is refused, and not what was typed.
      if (failure instanceof Failure && failure.fields.has('token')) onOld();
      else setError(failure);
      setState('asking');
    }
  };
  const fields = error instanceof Failure ? error.fields : new Map<string, string>();
  return {
    submit: (event?: FormEvent): void => {
      event?.preventDefault();
      void run();
    },
    fields,
    error: fields.size === 0 ? error : undefined,
    isBusy: state === 'busy',
    isDone: state === 'done',
  };
}
