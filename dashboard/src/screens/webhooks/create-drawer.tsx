import { useQueryClient } from '@tanstack/react-query';
import Inbox from 'lucide-react/icons/inbox';
import { useEffect, useRef, useState, type FormEvent } from 'react';
import { createCatcher } from '../../api/catchers.ts';
import { Failure } from '../../api/client.ts';
import { endpointActions, type NewEndpoint } from '../../api/endpoints.ts';
import { Button } from '../../parts/button.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { CreatedEndpoint } from './created-endpoint.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { encodeValues, newValues } from './endpoint-values.ts';

interface CreateDrawerProps {
  /** It begins with the URL of a catcher. */
  readonly hasCatcher: boolean;
  readonly onClose: () => void;
}

/** Makes an endpoint, and then helps to get the first webhook through. */
export function CreateDrawer({ hasCatcher, onClose }: CreateDrawerProps) {
  const [made, setMade] = useState<NewEndpoint>();
  return (
    <Drawer title={made === undefined ? 'New endpoint' : 'Endpoint created'} onClose={onClose}>
      {made === undefined ? (
        <CreateForm hasCatcher={hasCatcher} onMade={setMade} />
      ) : (
        <CreatedEndpoint endpoint={made} onClose={onClose} />
      )}
    </Drawer>
  );
}

const catcherName = 'Built-in catcher';

interface CreateFormProps {
  readonly hasCatcher: boolean;
  readonly onMade: (endpoint: NewEndpoint) => void;
}

function CreateForm({ hasCatcher, onMade }: CreateFormProps) {
  const queries = useQueryClient();
  const form = useRef<HTMLFormElement>(null);
  const [values, setValues] = useState(newValues);
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(hasCatcher);
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (failure) {
      setError(failure);
    } finally {
      setIsBusy(false);
    }
  };
  const fillCatcher = async (): Promise<void> =>
    attempt(async () => {
      const { url } = await createCatcher();
      setValues((before) => ({ ...before, url, description: before.description || catcherName }));
    });
  useEffect(() => {
    if (!hasCatcher) {
      form.current?.querySelector<HTMLInputElement>('#endpoint-url')?.focus();
      return;
    }
    createCatcher()
      .then(({ url }) => setValues((before) => ({ ...before, url, description: catcherName })), setError)
      .finally(() => setIsBusy(false));
  }, [hasCatcher]);
  const encoded = encodeValues(values);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void attempt(async () => onMade(await endpointActions(queries).create(encoded.body)));
  };
  const refused = error instanceof Failure ? error.fields : new Map<string, string>();
  return (
    <form className="drawer-body endpoint-form" ref={form} onSubmit={submit} noValidate>
      <div className="drawer-form">
        <EndpointForm
          values={values}
          onChange={(change) => {
            setError(undefined);
            setValues((before) => ({ ...before, ...change }));
          }}
          id={undefined}
          refused={refused}
          urlAside={
            <Button tone="quiet" disabled={isBusy} onClick={() => void fillCatcher()}>
              <Inbox size={14} aria-hidden />
              Use the built-in catcher
            </Button>
          }
        />
        {error !== undefined && refused.size === 0 && <FailureNotice error={error} />}
      </div>
      <div className="drawer-foot">
        <span className="drawer-foot-note">Next you see its signing secret, once.</span>
        <Button type="submit" tone="primary" disabled={isBusy || encoded.problems.size > 0}>
          Create endpoint
        </Button>
      </div>
    </form>
  );
}
