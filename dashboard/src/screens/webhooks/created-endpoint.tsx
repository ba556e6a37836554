import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { catcherIdOf } from '../../api/catchers.ts';
import type { NewEndpoint } from '../../api/endpoints.ts';
import { Button } from '../../parts/button.tsx';
import { CatcherRequests } from './catcher-requests.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { SendTest } from './send-test.tsx';

// The verifiers of nine languages are texts of 15 kB, which only this needs.
const VerifySnippets = lazy(async () => {
  const { VerifySnippets: Snippets } = await import('./verify-snippets.tsx');
  return { default: Snippets };
});

interface CreatedEndpointProps {
  readonly endpoint: NewEndpoint;
  readonly onClose: () => void;
}

/** What follows at once: the secret, how to verify with it, and a test. The secret is in no address and no store, so it is gone with this. */
export function CreatedEndpoint({ endpoint, onClose }: CreatedEndpointProps) {
  const catcher = catcherIdOf(endpoint.url);
  return (
    <div className="drawer-body endpoint-form">
      <div className="drawer-form">
        <p className="mono wrap">{endpoint.url}</p>
        <SecretOnce secret={endpoint.secret} warnings={endpoint.warnings} />
        <section className="section" aria-labelledby="try-it">
          <h3 id="try-it">Try it</h3>
          <SendTest endpoint={endpoint.id} />
          {catcher !== '' && <CatcherRequests id={catcher} />}
        </section>
        {catcher === '' && (
          <section className="section" aria-labelledby="verify">
            <h3 id="verify">Verify each request</h3>
            <Suspense fallback={<span className="placeholder" style={{ blockSize: 200 }} />}>
              <VerifySnippets secret={endpoint.secret} />
            </Suspense>
          </section>
        )}
        {catcher !== '' && (
          <details className="endpoint-more">
            <summary>Verify each request in your own receiver</summary>
            <Suspense fallback={<span className="placeholder" style={{ blockSize: 200 }} />}>
              <VerifySnippets secret={endpoint.secret} />
            </Suspense>
          </details>
        )}
      </div>
      <div className="drawer-foot">
        <Link className="button" to="/webhooks/$id" params={{ id: endpoint.id }}>
          Open the endpoint
        </Link>
        <span className="drawer-foot-note" />
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}
