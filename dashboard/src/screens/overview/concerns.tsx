import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import ChevronRight from 'lucide-react/icons/chevron-right';
import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import CirclePause from 'lucide-react/icons/circle-pause';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { type ReactNode, useState } from 'react';
import { exhaustedQuery } from '../../api/failure-groups.ts';
import { webhookStatsQuery } from '../../api/endpoints.ts';
import { endpointsQuery, healthQuery, type ListedEndpoint } from '../../api/last-day.ts';
import type { Schemas } from '../../api/schema.ts';
import { type Settings, settingsQuery } from '../../api/settings.ts';
import { Badge } from '../../parts/badge.tsx';
import { deliveries } from '../../parts/delivery-words.ts';
import { endpointName, type EndpointStanding, explainListed } from '../../parts/endpoint-words.ts';
import { Section } from '../../parts/section.tsx';
import { plural } from '../../parts/time.tsx';

type Tone = 'failed' | 'retrying' | 'waiting';

/** Something to look at: a line, which opens where it stands for several. */
interface Concern {
  readonly key: string;
  readonly tone: Tone;
  /** `7 endpoints failing` */
  readonly title: string;
  /** Why, in a few words, with counts. */
  readonly causes?: string;
  /** The section of the settings where it is mended. */
  readonly section?: 'mail' | 'backups';
  readonly renderDetails?: () => ReactNode;
}

const icons = { failed: CircleAlert, retrying: TriangleAlert, waiting: CirclePause };

/** What somebody should look at, grouped; where there is nothing, it says so, as silence may also mean that nobody has looked. */
export function Concerns() {
  const concerns = useConcerns();
  if (concerns === undefined)
    return <span className="placeholder" style={{ inlineSize: 220, blockSize: 14 }} />;
  if (concerns.length === 0)
    return (
      <Badge tone="ok" icon={CircleCheck}>
        Nothing needs attention
      </Badge>
    );
  return (
    <Section title="Needs attention">
      <ul className="panel concerns">
        {concerns.map(({ key, ...concern }) => (
          <ConcernItem key={key} {...concern} />
        ))}
      </ul>
    </Section>
  );
}

function ConcernItem({ tone, title, causes, section, renderDetails }: Omit<Concern, 'key'>) {
  const [isOpen, setIsOpen] = useState(false);
  const line = (
    <>
      <span>{title}</span>
      {causes !== undefined && <span className="soft cut">{causes}</span>}
    </>
  );
  return (
    <li className="concern">
      <Badge tone={tone} icon={icons[tone]} />
      {renderDetails === undefined ? (
        section === undefined ? (
          <span className="concern-line wrap">{line}</span>
        ) : (
          <Link className="concern-line concern-link" to="/settings/$section" params={{ section }}>
            {line}
          </Link>
        )
      ) : (
        <button
          type="button"
          className="concern-line"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          {line}
          <ChevronRight className="concern-mark" size={14} aria-hidden />
        </button>
      )}
      {isOpen && renderDetails?.()}
    </li>
  );
}

/** From the worst on. Undefined as long as the answers are on their way. */
function useConcerns(): readonly Concern[] | undefined {
  const { data: health } = useQuery(healthQuery);
  const { data: endpoints } = useQuery(endpointsQuery);
  const { data: stats } = useQuery(webhookStatsQuery);
  const { data: settings } = useQuery(settingsQuery);
  if (health === undefined || endpoints === undefined) return undefined;
  const warnings = (health.warnings ?? []).map((title): Concern => ({ key: title, tone: 'retrying', title }));
  return [
    ...exhaustedOf(health),
    ...standingsOf(endpoints),
    ...unmatchedOf(endpoints, stats?.neverMatched ?? []),
    ...warnings,
    ...backupOf(health),
    ...unsetOf(settings),
  ].toSorted((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
}

const order: readonly Tone[] = ['failed', 'retrying', 'waiting'];
/** More are not counted by the service. */
const exhaustedMax = 1_000;

function exhaustedOf({ exhaustedLastDay: count = 0 }: Schemas['Health']['data']): readonly Concern[] {
  if (count === 0) return [];
  const counted = count < exhaustedMax ? deliveries(count) : `${count.toLocaleString()}+ deliveries`;
  return [
    {
      key: 'exhausted',
      tone: 'failed',
      title: `${counted} exhausted in the last 24 hours`,
      renderDetails: () => <ExhaustedByEndpoint />,
    },
  ];
}

interface Standing {
  readonly endpoint: ListedEndpoint;
  readonly standing: EndpointStanding;
}

/** One line for each way to stand, with its causes and how many endpoints have each. */
function standingsOf(endpoints: readonly ListedEndpoint[]): readonly Concern[] {
  const troubled = endpoints
    .map((endpoint): Standing => ({ endpoint, standing: explainListed(endpoint) }))
    .filter(({ standing }) => standing.tone !== 'ok');
  return [...Map.groupBy(troubled, ({ standing }) => standing.word)].map(([word, rows]): Concern => ({
    key: word,
    tone: order.find((tone) => rows.some(({ standing }) => standing.tone === tone)) ?? 'waiting',
    title: `${plural(rows.length, 'endpoint')} ${word.toLowerCase()}`,
    causes: causesOf(rows),
    renderDetails: () => <EndpointLines rows={rows} />,
  }));
}

/** The endpoints whose filters have never matched a change. */
function unmatchedOf(endpoints: readonly ListedEndpoint[], ids: readonly string[]): readonly Concern[] {
  const rows = endpoints
    .filter(({ id }) => ids.includes(id))
    .map((endpoint): Standing => ({ endpoint, standing: { ...explainListed(endpoint), reason: '' } }));
  if (rows.length === 0) return [];
  return [
    {
      key: 'unmatched',
      tone: 'waiting',
      title: `${plural(rows.length, 'endpoint')} never matched`,
      causes: 'No change has matched the filter.',
      renderDetails: () => <EndpointLines rows={rows} />,
    },
  ];
}

const causesMax = 3;

/** `Connection refused (5), No complete answer within 15 s (2)`, the most frequent first. */
function causesOf(rows: readonly Standing[]): string {
  const causes = Map.groupBy(
    rows,
    ({ endpoint: { stats, statusReason } }) => statusReason || stats?.lane.cause || '',
  );
  const named = [...causes].filter(([cause]) => cause !== '').toSorted(([, a], [, b]) => b.length - a.length);
  const shown = named.slice(0, causesMax).map(([cause, some]) => {
    const short = cause.replace(/\.$/, '');
    return some.length === rows.length ? short : `${short} (${some.length})`;
  });
  return [...shown, ...(named.length > causesMax ? [`${named.length - causesMax} more causes`] : [])].join(
    ', ',
  );
}

const linesMax = 20;

function EndpointLines({ rows }: { readonly rows: readonly Standing[] }) {
  return (
    <ul className="concern-details">
      {rows.slice(0, linesMax).map(({ endpoint, standing }) => (
        <li key={endpoint.id}>
          <Link className="link" to="/webhooks/$id" params={{ id: endpoint.id }}>
            {endpointName(endpoint)}
          </Link>
          {standing.reason !== '' && <span className="soft"> {standing.reason}</span>}
        </li>
      ))}
      {rows.length > linesMax && (
        <li>
          <Link className="link" to="/webhooks" search={{ sort: 'status' }}>
            All {rows.length.toLocaleString()}
          </Link>
        </li>
      )}
    </ul>
  );
}

/** Fetched when somebody wants to know. */
function ExhaustedByEndpoint() {
  const { data: exhausted } = useQuery(exhaustedQuery);
  const { data: endpoints } = useQuery(endpointsQuery);
  if (exhausted === undefined) return <span className="placeholder" style={{ inlineSize: 220 }} />;
  const byId = new Map(endpoints?.map((endpoint) => [endpoint.id, endpoint]));
  const rows = [...exhausted].toSorted(([, a], [, b]) => b - a);
  return (
    <ul className="concern-details">
      {rows.slice(0, linesMax).map(([id, count]) => {
        const endpoint = byId.get(id);
        return (
          <li key={id}>
            <Link
              className="link"
              to="/deliveries"
              search={{ status: 'exhausted', endpoint: id, from: '24h' }}
            >
              {endpoint === undefined ? 'A deleted endpoint' : endpointName(endpoint)}
            </Link>
            <span className="soft"> {deliveries(count)}</span>
          </li>
        );
      })}
      <li>
        <Link className="link" to="/deliveries" search={{ status: 'exhausted', from: '24h' }}>
          All exhausted deliveries
        </Link>
      </li>
    </ul>
  );
}

function backupOf({ backup }: Schemas['Health']['data']): readonly Concern[] {
  if (backup === undefined || backup.failure === '') return [];
  const { failure: causes } = backup;
  return [{ key: 'backup', tone: 'failed', title: 'Last backup failed', causes, section: 'backups' }];
}

/** What an instance should have before others rely on it. */
function unsetOf(settings: Settings | undefined): readonly Concern[] {
  if (settings === undefined || settings.smtp.enabled) return [];
  const causes = 'Password resets and sign-in codes are not sent.';
  return [{ key: 'mail', tone: 'waiting', title: 'No mail server', causes, section: 'mail' }];
}
