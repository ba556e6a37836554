import { useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { endpointActions } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints, mayChangeWebhooks } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { RotateSecret } from './rotate-secret.tsx';

/** Everything of an endpoint that can be changed. */
export function SettingsTab({ endpoint }: { readonly endpoint: Endpoint }) {
  const queries = useQueryClient();
  useFocusOfAddress();
  return (
    <div className="endpoint-settings">
      <EndpointForm
        endpoint={endpoint}
        save={async (options) => {
          await endpointActions(queries).update(endpoint.id, options);
          showToast('Saved.');
        }}
      />
      {mayChangeWebhooks() && <RotateSecret endpoint={endpoint} />}
      <section className="section" aria-labelledby="about">
        <h2 id="about">About</h2>
        <dl className="facts">
          <dt>Id</dt>
          <dd className="mono">
            {endpoint.id} <CopyButton text={endpoint.id} label="Copy the id" />
          </dd>
          <dt>Created</dt>
          <dd>
            <Time value={endpoint.created} />
          </dd>
          <dt>Changed</dt>
          <dd>
            <Time value={endpoint.updated} />
          </dd>
          {endpoint.verified !== '' && (
            <>
              <dt>Verified</dt>
              <dd>
                <Time value={endpoint.verified} />
              </dd>
            </>
          )}
        </dl>
      </section>
      {mayChangeWebhooks() && !isBoundToEndpoints() && <DeleteEndpoint endpoint={endpoint} />}
    </div>
  );
}

/** A link may be about one control: the one whose id is the fragment of the address. */
function useFocusOfAddress(): void {
  const { hash } = useLocation();
  useEffect(() => {
    const label = hash === '' ? null : document.getElementById(`${hash}-label`);
    label?.closest('.field')?.querySelector<HTMLElement>('input, textarea, button')?.focus();
  }, [hash]);
}

function DeleteEndpoint({ endpoint }: { readonly endpoint: Endpoint }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isOpen, setIsOpen] = useState(false);
  const host = URL.canParse(endpoint.url) ? new URL(endpoint.url).host : endpoint.id;
  return (
    <section className="section" aria-labelledby="delete">
      <h2 id="delete">Delete</h2>
      <p className="soft">Queued deliveries are cancelled. Past ones stay in the log and can’t be resent.</p>
      <div>
        <Button tone="danger" onClick={() => setIsOpen(true)}>
          Delete the endpoint …
        </Button>
      </div>
      {isOpen && (
        <Confirm
          title="Delete this endpoint?"
          action="Delete the endpoint"
          typed={host}
          onClose={() => setIsOpen(false)}
          onConfirm={async () => {
            await endpointActions(queries).remove(endpoint.id);
            showToast('The endpoint is deleted.');
            await navigate({ to: '/webhooks' });
          }}
        >
          <span className="mono wrap">{endpoint.url}</span> stops receiving webhooks and loses its secret.
        </Confirm>
      )}
    </section>
  );
}
