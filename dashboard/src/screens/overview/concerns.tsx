import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import CirclePause from 'lucide-react/icons/circle-pause';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { exhaustedQuery } from '../../api/endpoint-deliveries.ts';
import { webhookStatsQuery } from '../../api/endpoints.ts';
import { type Endpoint, lanesQuery } from '../../api/events.ts';
import { endpointsQuery, healthQuery } from '../../api/last-day.ts';
import type { Schemas } from '../../api/schema.ts';
import { type Settings, settingsQuery } from '../../api/settings.ts';
import { deliveries } from '../../parts/delivery-words.ts';
import { endpointName, explainEndpoint } from '../../parts/endpoint-words.ts';

interface Concern {
  readonly key: string;
  readonly tone: 'failed' | 'retrying' | 'waiting';
  readonly text: string;
  /** The endpoint where to look. */
  readonly endpoint?: string;
  readonly search?: { readonly tab: 'deliveries'; readonly status: 'exhausted' };
  /** The section of the settings where it is mended. */
  readonly section?: 'mail' | 'backups';
}

const icons = { failed: CircleAlert, retrying: TriangleAlert, waiting: CirclePause };

/** What somebody should look at; where there is nothing, it says so, as silence may also mean that nobody has looked. */
export function Concerns() {
  const concerns = useConcerns();
  if (concerns === undefined)
    return <span className="placeholder" style={{ inlineSize: 220, blockSize: 14 }} />;
  if (concerns.length === 0)
    return (
      <p className="badge" data-tone="ok">
        <CircleCheck size={15} aria-hidden />
        Nothing needs attention
      </p>
    );
  return (
    <section className="section" aria-labelledby="attention">
      <div className="section-head">
        <h2 id="attention">Needs attention</h2>
      </div>
      <ul className="panel concerns">
        {concerns.map((concern) => {
          const { key, tone } = concern;
          const Icon = icons[tone];
          return (
            <li key={key} className="concern">
              <span className="badge" data-tone={tone}>
                <Icon size={15} aria-hidden />
              </span>
              <ConcernText {...concern} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function ConcernText({ text, endpoint, section, search }: Concern) {
  if (endpoint !== undefined)
    return (
      <Link className="concern-link" to="/webhooks/$id" params={{ id: endpoint }} search={search ?? {}}>
        {text}
      </Link>
    );
  if (section === undefined) return <span className="wrap">{text}</span>;
  return (
    <Link className="concern-link" to="/settings/$section" params={{ section }}>
      {text}
    </Link>
  );
}

/** From the worst on. Undefined as long as the answers are on their way. */
function useConcerns(): readonly Concern[] | undefined {
  const { data: health } = useQuery(healthQuery);
  const { data: endpoints } = useQuery(endpointsQuery);
  const { data: lanes } = useQuery(lanesQuery);
  const { data: exhausted } = useQuery(exhaustedQuery);
  const { data: stats } = useQuery(webhookStatsQuery);
  const { data: settings } = useQuery(settingsQuery);
  if (health === undefined || endpoints === undefined) return undefined;
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  const givenUp = [...(exhausted ?? [])].map(([id, count]): Concern => ({
    key: `exhausted-${id}`,
    tone: 'failed',
    text: `${deliveries(count)} to ${nameOf(byId.get(id))} failed for good in the last 24 hours.`,
    ...(byId.has(id) && { endpoint: id, search: { tab: 'deliveries', status: 'exhausted' } }),
  }));
  const troubled = endpoints.flatMap((endpoint): readonly Concern[] => {
    const failing = stats?.failing.find((one) => one.endpoint === endpoint.id);
    const { tone, word, reason } = explainEndpoint(
      endpoint,
      lanes?.find(({ id }) => id === endpoint.id),
      failing && { attempts: failing.attempts, delivered: 0 },
    );
    if (tone === 'ok') return [];
    return [
      {
        key: endpoint.id,
        tone: tone === 'paused' ? 'waiting' : tone,
        text: `${endpointName(endpoint)}: ${word.toLowerCase()}. ${reason}`,
        endpoint: endpoint.id,
      },
    ];
  });
  const doubtful = (stats?.neverMatched ?? []).map((id): Concern => ({
    key: `never-${id}`,
    tone: 'waiting',
    text: `${nameOf(byId.get(id))}: its filter has never matched a change.`,
    endpoint: id,
  }));
  const told = (health.warnings ?? []).map((text): Concern => ({ key: text, tone: 'retrying', text }));
  return [...givenUp, ...troubled, ...doubtful, ...told, ...backupOf(health), ...unsetOf(settings)].toSorted(
    (a, b) => order.indexOf(a.tone) - order.indexOf(b.tone),
  );
}

function nameOf(endpoint: Endpoint | undefined): string {
  return endpoint === undefined ? 'a deleted endpoint' : endpointName(endpoint);
}

function backupOf({ backup }: Schemas['Health']['data']): readonly Concern[] {
  if (backup === undefined || backup.failure === '') return [];
  const text = `The last backup job failed: ${backup.failure}`;
  return [{ key: 'backup', tone: 'failed', text, section: 'backups' }];
}

/** What an instance should have before others rely on it. */
function unsetOf(settings: Settings | undefined): readonly Concern[] {
  if (settings === undefined || settings.smtp.enabled) return [];
  const text = 'No mail server is set, so nobody can reset a password or sign in with a code.';
  return [{ key: 'mail', tone: 'waiting', text, section: 'mail' }];
}

const order: readonly Concern['tone'][] = ['failed', 'retrying', 'waiting'];
