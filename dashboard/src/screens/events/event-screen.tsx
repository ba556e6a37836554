import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { eventQuery, useSurroundings } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { Bar } from '../../parts/bar.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { deliveries as countOf, eventTitle } from '../../parts/delivery-words.ts';
import { NotFound } from '../../parts/empty.tsx';
import { EventEndpoints } from '../../parts/lazy-event-endpoints.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { Notice } from '../../parts/notice.tsx';
import { RecordLink } from '../../parts/record-link.tsx';
import { Resend } from '../../parts/resend.tsx';
import { Section } from '../../parts/section.tsx';
import { Time } from '../../parts/time.tsx';

const route = getRouteApi('/shell/events/$id');

/** One event: what receivers get, and what became of it on its way to each. */
export function EventScreen() {
  const { id } = route.useParams();
  const query = useQuery(eventQuery(id));
  return (
    <>
      <Bar
        title={query.data === undefined ? 'Event' : titleOf(query.data)}
        aside={<CopyButton text={id} label="Copy the id of the event" />}
      />
      <div className="detail">
        <Loaded query={query} absent={<NoEvent id={id} />}>
          {(event) => <EventPage event={event} />}
        </Loaded>
      </div>
    </>
  );
}

function NoEvent({ id }: { readonly id: string }) {
  return (
    <NotFound title="Event not found" link={{ to: '/events' }} action="Go to events">
      <span className="mono">{id}</span> is not in the log. Events are kept for 30 days by default.
    </NotFound>
  );
}

function titleOf({ kind, collection }: Schemas['EventWithBody']): string {
  return kind === 'ping' ? 'Test event' : eventTitle({ kind, collection });
}

function EventPage({ event }: { readonly event: Schemas['EventWithBody'] }) {
  const { id, collection, record, revision, created, deliveries, body, expunged } = event;
  const surroundings = useSurroundings();
  return (
    <div className="detail-page">
      <Facts
        items={{
          Event: <span className="mono">{id}</span>,
          When: <Time value={created} />,
          Record: collection !== '' && (
            <>
              <RecordLink className="link" collection={collection} record={record}>
                {collection} / <span className="mono">{record}</span>
              </RecordLink>{' '}
              <span className="soft">revision {revision}</span>
            </>
          ),
        }}
      />
      <Section
        title={deliveries.length === 0 ? 'Not sent' : countOf(deliveries.length)}
        actions={
          deliveries.length > 1 && (
            <Resend deliveries={deliveries} surroundings={surroundings} label="Resend all …" />
          )
        }
      >
        <EventEndpoints event={event} surroundings={surroundings} />
      </Section>
      <Section
        title="What receivers get"
        actions={
          body !== null && (
            <>
              <CopyButton text={JSON.stringify(body, null, 2)} label="Copy the JSON" />
              <ExpungeBody event={id} />
            </>
          )
        }
      >
        {body === null ? (
          <Notice>
            The body was removed <Time value={expunged} />. The event stays in the log. Nothing more is sent.
          </Notice>
        ) : (
          <div className="panel">
            <JsonView value={body} />
          </div>
        )}
      </Section>
    </div>
  );
}

/** Removes what the log keeps of a record in an event, for whoever may change webhooks. */
function ExpungeBody({ event }: { readonly event: string }) {
  const queries = useQueryClient();
  return (
    <ConfirmButton
      label="Remove the body …"
      title="Remove the body?"
      action="Remove the body"
      typed="remove"
      onConfirm={async () => {
        await call('DELETE /api/webhooks/events/{id}/body', { path: { id: event } });
        await queries.invalidateQueries();
      }}
    >
      The body, its hidden fields and the receivers’ responses are permanently deleted. The event stays in the
      log. Pending deliveries are cancelled, and none can be resent.
    </ConfirmButton>
  );
}
