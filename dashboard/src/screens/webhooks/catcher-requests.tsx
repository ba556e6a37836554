import { useQuery } from '@tanstack/react-query';
import { catcherQuery, type CatcherRequest } from '../../api/catchers.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { HeaderFacts } from '../../parts/facts.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { RawText, Section } from '../../parts/section.tsx';
import { plural, Time } from '../../parts/time.tsx';

/** What the built-in catcher was sent, as it comes: headers and body are texts, whoever wrote them. */
export function CatcherRequests({ id }: { readonly id: string }) {
  const { data: catcher, error } = useQuery(catcherQuery(id));
  if (error !== null) return <FailureNotice error={error} />;
  const requests = catcher?.requests ?? [];
  return (
    <Section
      level={3}
      title="Caught by the built-in catcher"
      note={
        catcher !== undefined && (
          <span className="small">
            until <Time value={catcher.expires} />
          </span>
        )
      }
    >
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
    </Section>
  );
}

function CaughtRequest({ request, isOpen }: { readonly request: CatcherRequest; readonly isOpen: boolean }) {
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
          <Section
            level={4}
            title={`Body, ${plural(bodyBytes, 'byte')}`}
            actions={<CopyButton text={body} label="Copy the body" />}
          >
            <RawText label="Body" text={pretty(body)} />
          </Section>
          <h4>Headers</h4>
          <HeaderFacts headers={headers} />
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
