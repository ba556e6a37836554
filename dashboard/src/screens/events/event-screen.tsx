import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import SearchX from 'lucide-react/icons/search-x';
import { Failure } from '../../api/client.ts';
import { eventQuery, useSurroundings } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { Bar } from '../../parts/bar.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { deliveries as countOf, eventTitle } from '../../parts/delivery-words.ts';
import { Empty } from '../../parts/empty.tsx';
import { EventEndpoints } from '../../parts/lazy-event-endpoints.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { RecordLink } from '../../parts/record-link.tsx';
import { Resend } from '../../parts/resend.tsx';
import { Time } from '../../parts/time.tsx';
import { ExpungeBody } from './expunge-body.tsx';

const route = getRouteApi('/shell/events/$id');

/** One event: what receivers get, and what became of it on its way to each. */
export function EventScreen() {
  const { id } = route.useParams();
  const { data: event, error, refetch } = useQuery(eventQuery(id));
  return (
    <>
      <Bar
        title={event === undefined ? 'Event' : titleOf(event)}
        aside={<CopyButton text={id} label="Copy the id of the event" />}
      />
      <div className="detail">
        {event !== undefined && <EventPage event={event} />}
        {event === undefined && error !== null && isAbsent(error) && <NoEvent id={id} />}
        {event === undefined && error !== null && !isAbsent(error) && (
          <FailureNotice error={error} onRetry={() => void refetch()} />
        )}
        {event === undefined && error === null && <PlaceholderPage />}
      </div>
    </>
  );
}

function isAbsent(error: unknown): boolean {
  return error instanceof Failure && error.status === 404;
}

function titleOf({ kind, collection }: Schemas['EventWithBody']): string {
  return kind === 'ping' ? 'Test event' : eventTitle({ kind, collection });
}

function EventPage({ event }: { readonly event: Schemas['EventWithBody'] }) {
  const { id, collection, record, revision, created, deliveries, body, expunged } = event;
  const surroundings = useSurroundings();
  return (
    <div className="detail-page">
      <dl className="facts">
        <dt>Event</dt>
        <dd className="mono">{id}</dd>
        <dt>When</dt>
        <dd>
          <Time value={created} />
        </dd>
        {collection !== '' && (
          <>
            <dt>Record</dt>
            <dd>
              <RecordLink className="link" collection={collection} record={record}>
                {collection} / <span className="mono">{record}</span>
              </RecordLink>{' '}
              <span className="soft">revision {revision}</span>
            </dd>
          </>
        )}
      </dl>
      <section className="section" aria-labelledby="endpoints">
        <div className="section-head section-head-actions">
          <h2 id="endpoints">{deliveries.length === 0 ? 'Not sent' : countOf(deliveries.length)}</h2>
          {deliveries.length > 1 && (
            <Resend deliveries={deliveries} surroundings={surroundings} label="Resend all …" />
          )}
        </div>
        <EventEndpoints event={event} surroundings={surroundings} />
      </section>
      <section className="section" aria-labelledby="body">
        <div className="section-head section-head-actions">
          <h2 id="body">What receivers get</h2>
          {body !== null && <CopyButton text={JSON.stringify(body, null, 2)} label="Copy the JSON" />}
          {body !== null && <ExpungeBody event={id} />}
        </div>
        {body === null ? (
          <Notice>
            The body was removed <Time value={expunged} />. The event stays in the log. Nothing more is sent.
          </Notice>
        ) : (
          <div className="panel">
            <JsonView value={body} />
          </div>
        )}
      </section>
    </div>
  );
}

function NoEvent({ id }: { readonly id: string }) {
  return (
    <Empty
      icon={SearchX}
      title="Event not found"
      actions={
        <Link to="/events" className="button">
          Go to events
        </Link>
      }
    >
      <span className="mono">{id}</span> is not in the log. Events are kept for 30 days by default.
    </Empty>
  );
}

function PlaceholderPage() {
  return (
    <div className="detail-page" aria-busy>
      {[260, 200, 320, 240].map((inlineSize) => (
        <span key={inlineSize} className="placeholder" style={{ inlineSize }} />
      ))}
    </div>
  );
}
