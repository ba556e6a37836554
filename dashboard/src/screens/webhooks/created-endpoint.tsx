import { lazyRouteComponent } from '@tanstack/react-router';
import { Suspense } from 'react';
import { catcherIdOf } from '../../api/catchers.ts';
import type { NewEndpoint } from '../../api/endpoints.ts';
import { Button } from '../../parts/button.tsx';
import { LinkButton } from '../../parts/empty.tsx';
import { Section } from '../../parts/section.tsx';
import { CatcherRequests } from './catcher-requests.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { SendTest } from './send-test.tsx';

// The verifiers of nine languages are texts of 15 kB, which only this needs.
const VerifySnippets = lazyRouteComponent(async () => import('./verify-snippets.tsx'), 'VerifySnippets');

interface CreatedEndpointProps {
  readonly endpoint: NewEndpoint;
  readonly onClose: () => void;
}

/** What follows at once: the secret, how to verify with it, and a test. The secret is in no address and no store, so it is gone with this. */
export function CreatedEndpoint({ endpoint, onClose }: CreatedEndpointProps) {
  const catcher = catcherIdOf(endpoint.url);
  const snippets = (
    <Suspense fallback={<span className="placeholder" style={{ blockSize: 200 }} />}>
      <VerifySnippets secret={endpoint.secret} />
    </Suspense>
  );
  return (
    <div className="drawer-body endpoint-form">
      <div className="drawer-form">
        <p className="mono wrap">{endpoint.url}</p>
        <SecretOnce secret={endpoint.secret} warnings={endpoint.warnings} />
        <Section level={3} title="Try it">
          <SendTest endpoint={endpoint.id} />
          {catcher !== '' && <CatcherRequests id={catcher} />}
        </Section>
        {catcher === '' ? (
          <Section level={3} title="Verify each request">
            {snippets}
          </Section>
        ) : (
          <details className="endpoint-more">
            <summary>Verify each request in your own receiver</summary>
            {snippets}
          </details>
        )}
      </div>
      <div className="drawer-foot">
        <LinkButton link={{ to: '/webhooks/$id', params: { id: endpoint.id } }}>Open the endpoint</LinkButton>
        <span className="drawer-foot-note" />
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}
