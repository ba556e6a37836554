import { catcherIdOf } from '../../api/catchers.ts';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { CatcherRequests } from './catcher-requests.tsx';
import { SendTest } from './send-test.tsx';

/** A test at any time, also while it is paused; with the built-in catcher it shows what came. */
export function TestTab({ endpoint }: { readonly endpoint: Endpoint }) {
  const catcher = catcherIdOf(endpoint.url);
  return (
    <>
      <section className="section" aria-labelledby="test">
        <h2 id="test">Send a test</h2>
        <p className="soft">
          The event <span className="mono">ping</span>, once and at once, also to an endpoint that is paused.
          It is signed like every other, is not tried again and counts in no figure.
        </p>
        <SendTest endpoint={endpoint.id} />
      </section>
      {catcher !== '' && !isBoundToEndpoints() && <CatcherRequests id={catcher} />}
    </>
  );
}
