import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import Columns2 from 'lucide-react/icons/columns-2';
import Pencil from 'lucide-react/icons/pencil';
import Plus from 'lucide-react/icons/plus';
import Trash2 from 'lucide-react/icons/trash-2';
import { lazy, Suspense, useState } from 'react';
import type { Collection } from '../../api/client.ts';
import {
  type Event,
  eventBodyQuery,
  storyQuery,
  type Surroundings,
  useSurroundings,
} from '../../api/events.ts';
import { useLiveChanges } from '../../api/live-changes.ts';
import { Button } from '../../parts/button.tsx';
import { deliveries as countOf, explainDelivery, kindNames } from '../../parts/delivery-words.ts';
import { EventEndpoints, UnsentNotice } from '../../parts/lazy-event-endpoints.tsx';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { Resend } from '../../parts/resend.tsx';
import { Time } from '../../parts/time.tsx';
import { PlaceholderTab } from './placeholder-tab.tsx';
import { changesBetween, type FieldChange, valuesOf } from './story-changes.ts';

const CompareRevisions = lazy(async () => ({
  default: (await import('./compare-revisions.tsx')).CompareRevisions,
}));

interface StoryTabProps {
  readonly collection: Collection;
  readonly id: string;
}

/** A record's own story, the last first: what changed, and what became of it at each endpoint. */
export function StoryTab({ collection, id }: StoryTabProps) {
  const story = useInfiniteQuery(storyQuery(collection, id));
  const surroundings = useSurroundings();
  useLiveChanges({ collection: collection.name, filter: `id = '${id}'` }, () => void story.refetch());
  if (story.isPending) return <PlaceholderTab />;
  if (story.isError)
    return (
      <div className="drawer-form">
        <FailureNotice error={story.error} onRetry={() => void story.refetch()} />
      </div>
    );
  const [last, ...earlier] = story.data.pages.flatMap(({ items }) => items);
  if (last === undefined) return <NoStory />;
  const events = [last, ...earlier] as const;
  return (
    <div className="drawer-body">
      <div className="story">
        <Verdict events={events} surroundings={surroundings} />
        {earlier.length > 0 && <Comparison collection={collection} id={id} last={last.id} />}
        <ol className="story-events" aria-label="Story, the last event first" reversed>
          {events.map((event, index) => (
            <StoryEvent
              key={event.id}
              event={event}
              before={events[index + 1]}
              collection={collection}
              surroundings={surroundings}
            />
          ))}
        </ol>
        <MoreRows
          label="Show earlier events"
          isShown={story.hasNextPage}
          isBusy={story.isFetchingNextPage}
          onMore={() => void story.fetchNextPage()}
        />
      </div>
    </div>
  );
}

function Comparison(props: StoryTabProps & { readonly last: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <div>
        <Button icon={Columns2} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          Compare revisions
        </Button>
      </div>
      {isOpen && (
        <Suspense fallback={<span className="placeholder" style={{ blockSize: 120 }} />}>
          <CompareRevisions {...props} />
        </Suspense>
      )}
    </>
  );
}

interface VerdictProps {
  readonly events: readonly [Event, ...(readonly Event[])];
  readonly surroundings: Surroundings | undefined;
}

/** The answer before the details: whether every delivery arrived, and whether the last change was sent to everybody who may have expected it. */
function Verdict({ events, surroundings }: VerdictProps) {
  return (
    <>
      <DeliveryVerdict events={events} surroundings={surroundings} />
      <UnsentNotice event={events[0]} surroundings={surroundings} />
    </>
  );
}

function DeliveryVerdict({ events, surroundings }: VerdictProps) {
  const deliveries = events.flatMap((event) => event.deliveries);
  const open = deliveries.filter(({ status }) => status !== 'delivered');
  const reasons = open.map((delivery) => explainDelivery(delivery, surroundings));
  const worst = reasons.find(({ tone }) => tone === 'failed') ?? reasons[0];
  if (deliveries.length === 0) return <Notice>No change of this record was sent.</Notice>;
  if (open.length === 0)
    return (
      <Notice tone="ok">
        {deliveries.length === 1 ? 'The delivery' : `All ${countOf(deliveries.length)}`} arrived.
      </Notice>
    );
  return (
    <Notice tone={worst?.tone === 'failed' ? 'failed' : 'retrying'}>
      {deliveries.length === 1 ? 'The delivery' : `${open.length} of ${countOf(deliveries.length)}`} did not
      arrive. {worst?.brief || worst?.reason}
      <div className="notice-actions">
        <Resend deliveries={open} surroundings={surroundings} label={`Resend ${open.length} …`} />
      </div>
    </Notice>
  );
}

const icons: Readonly<Partial<Record<Event['kind'], typeof Plus>>> = {
  'record.create': Plus,
  'record.update': Pencil,
  'record.delete': Trash2,
  backfill: Plus,
  ping: Plus,
  test: Plus,
};

interface StoryEventProps {
  readonly event: Event;
  /** The event of this record before it, as far as it is loaded. */
  readonly before: Event | undefined;
  readonly collection: Collection;
  readonly surroundings: Surroundings | undefined;
}

function StoryEvent({ event, before, collection, surroundings }: StoryEventProps) {
  const Icon = icons[event.kind] ?? Plus;
  return (
    <li className="story-event">
      <span className="story-icon">
        <Icon size={13} aria-hidden />
      </span>
      <div className="story-head">
        <h3>
          <Link to="/events/$id" params={{ id: event.id }}>
            {kindNames[event.kind]}
          </Link>
        </h3>
        <span className="soft">revision {event.revision}</span>
        <span className="story-time">
          <Time value={event.created} />
        </span>
      </div>
      <Changes event={event} before={before} collection={collection} />
      <EventEndpoints event={event} surroundings={surroundings} />
    </li>
  );
}

function Changes({ event, before, collection }: Omit<StoryEventProps, 'surroundings'>) {
  const after = useQuery(eventBodyQuery(event.id));
  const earlier = useQuery(eventBodyQuery(event.kind === 'record.update' ? (before?.id ?? '') : ''));
  if (after.error !== null) return <FailureNotice error={after.error} />;
  if (after.data === undefined) return <span className="placeholder" style={{ inlineSize: 180 }} />;
  if (event.kind === 'record.delete') return <p className="soft">The record is gone.</p>;
  if (event.kind === 'record.create') return <ValueList changes={valuesOf(collection, after.data)} />;
  if (before === undefined)
    return <p className="soft">No diff: the previous event is not loaded or has expired.</p>;
  if (earlier.data === undefined) return <span className="placeholder" style={{ inlineSize: 180 }} />;
  const changes = changesBetween(collection, earlier.data, after.data);
  if (changes.length === 0) return <p className="soft">No field visible to receivers changed.</p>;
  return <ChangeList changes={changes} />;
}

const shownFields = 4;

/** The first values of a new record in one line; all of them are a click away. */
function ValueList({ changes }: { readonly changes: readonly FieldChange[] }) {
  const shown = changes.slice(0, shownFields);
  const more = changes.length - shown.length;
  return (
    <p className="story-values">
      {shown.map(({ name, after }) => (
        <span key={name} className="story-value">
          <span className="soft">{name}</span> <span className="cut">{after}</span>
        </span>
      ))}
      {more > 0 && <span className="faint">and {more} more</span>}
    </p>
  );
}

function ChangeList({ changes }: { readonly changes: readonly FieldChange[] }) {
  return (
    <dl className="story-changes">
      {changes.map(({ name, before, after }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <del>{shown(before)}</del> <span aria-hidden>→</span> <ins>{shown(after)}</ins>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function shown(value: string | undefined): string {
  return value === undefined || value === '' ? 'empty' : value;
}

function NoStory() {
  return (
    <div className="drawer-body">
      <div className="story">
        <Notice>
          No events for this record. Imports create none, events expire (after 30 days by default), and the
          setting <span className="mono">webhooks.events</span> can limit them to what endpoints subscribe to.
        </Notice>
      </div>
    </div>
  );
}
