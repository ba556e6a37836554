import { useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { call } from '../../api/client.ts';
import { forgetEndpoints, useEndpointChange } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints, mayChangeWebhooks } from '../../api/session.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { TextToCopy } from '../../parts/copy-button.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Section } from '../../parts/section.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { RotateSecret } from './rotate-secret.tsx';

/** Everything of an endpoint that can be changed. */
export function SettingsTab({ endpoint }: { readonly endpoint: Endpoint }) {
  const change = useEndpointChange();
  const { id, created, updated, verified } = endpoint;
  useFocusOfAddress();
  return (
    <div className="endpoint-settings">
      <EndpointForm
        endpoint={endpoint}
        save={async (options) => {
          await change('PATCH /api/webhooks/endpoints/{id}', id, options);
          showToast('Saved.');
        }}
      />
      {mayChangeWebhooks() && <RotateSecret endpoint={endpoint} />}
      <Section title="About">
        <Facts
          items={{
            Id: <TextToCopy text={id} label="Copy the id" />,
            Created: <Time value={created} />,
            Changed: <Time value={updated} />,
            Verified: verified !== '' && <Time value={verified} />,
          }}
        />
      </Section>
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

function DeleteEndpoint({ endpoint: { id, url } }: { readonly endpoint: Endpoint }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <Section title="Delete">
      <p className="soft">Queued deliveries are cancelled. Past ones stay in the log and can’t be resent.</p>
      <div>
        <ConfirmButton
          label="Delete the endpoint …"
          button={{ tone: 'danger' }}
          title="Delete this endpoint?"
          action="Delete the endpoint"
          typed={URL.canParse(url) ? new URL(url).host : id}
          done="The endpoint is deleted."
          onConfirm={async () => {
            await call('DELETE /api/webhooks/endpoints/{id}', { path: { id } });
            await forgetEndpoints(queries, [id]);
            await navigate({ to: '/webhooks' });
          }}
        >
          <span className="mono wrap">{url}</span> stops receiving webhooks and loses its secret.
        </ConfirmButton>
      </div>
    </Section>
  );
}
