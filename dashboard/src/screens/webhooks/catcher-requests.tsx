import { useQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import { catcherQuery, type CatcherRequest } from '../../api/catchers.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { plural, Time } from '../../parts/time.tsx';

/** What the built-in catcher was sent, as it comes: headers and body are texts, whoever wrote them. */
export function CatcherRequests({ id }: { readonly id: string }) {
  const { data: catcher, error } = useQuery(catcherQuery(id));
  if (error !== null) return <FailureNotice error={error} />;
  const requests = catcher?.requests ?? [];
  return (
    <section className="section" aria-labelledby="caught">
      <div className="section-head">
        <h3 id="caught">Caught by the built-in catcher</h3>
        <span className="faint small">
          {catcher !== undefined && (
            <>
              until <Time value={catcher.expires} />
            </>
          )}
        </span>
      </div>
      <p className="unseen" role="status">
        {plural(requests.length, 'request')} caught
      </p>
      {requests.length === 0 ? (
        <p className="catcher-wait panel soft">
          Waiting for the first request. Send a test, or change a record.
        </p>
      ) : (
        <ul className="catcher-list">
          {requests.map((request, index) => (
            <CaughtRequest key={request.id} request={request} isOpen={index === 0} />
          ))}
        </ul>
      )}
    </section>
  );
}

interface CaughtRequestProps {
  readonly request: CatcherRequest;
  readonly isOpen: boolean;
}

function CaughtRequest({ request, isOpen }: CaughtRequestProps) {
  const { method, headers, body, bodyBytes, received } = request;
  const event = headers['x-service-event'] ?? '';
  return (
    <li>
      <details className="panel catcher-request" open={isOpen}>
        <summary>
          <span className="badge">{method}</span>
          <span className="cut">{event === '' ? 'request' : event}</span>
          <span className="faint small">
            <Time value={received} />
          </span>
        </summary>
        <div className="catcher-body">
          <div className="section-head section-head-actions">
            <h4>Body, {plural(bodyBytes, 'byte')}</h4>
            <CopyButton text={body} label="Copy the body" />
          </div>
          <pre className="panel raw" tabIndex={0} aria-label="Body">
            {pretty(body)}
          </pre>
          <h4>Headers</h4>
          <dl className="facts small mono">
            {Object.entries(headers).map(([name, value]) => (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </Fragment>
            ))}
          </dl>
        </div>
      </details>
    </li>
  );
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
