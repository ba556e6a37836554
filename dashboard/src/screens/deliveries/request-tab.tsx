import { useQuery } from '@tanstack/react-query';
import { maySign, signedRequestQuery, type SignedRequest } from '../../api/deliveries.ts';
import {
  type Attempt,
  type Delivery,
  eventQuery,
  isAddressed,
  isTest,
  type Surroundings,
} from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { HeaderFacts } from '../../parts/facts.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { RawText, Section } from '../../parts/section.tsx';

interface RequestTabProps {
  readonly delivery: Delivery;
  readonly attempt: Attempt | undefined;
  readonly surroundings: Surroundings | undefined;
}

/** What receivers are sent. The log keeps no requests: this one is made anew, with signatures that are good now. */
export function RequestTab({ delivery, attempt, surroundings }: RequestTabProps) {
  const { data: event, error, refetch } = useQuery(eventQuery(delivery.event));
  const endpoint = surroundings?.endpoints.get(delivery.endpoint);
  if (error !== null) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  if (event === undefined || surroundings === undefined) return <Loading />;
  if (endpoint === undefined)
    return (
      <>
        <Notice>The endpoint was deleted with its headers and secret. The body is what was sent.</Notice>
        <Body text={JSON.stringify(event.body)} />
      </>
    );
  return <SignedRequestView event={event} endpoint={endpoint} attempt={attempt} />;
}

interface SignedRequestViewProps {
  readonly event: Schemas['EventWithBody'];
  readonly endpoint: Schemas['Endpoint'];
  readonly attempt: Attempt | undefined;
}

function SignedRequestView({ event, endpoint, attempt }: SignedRequestViewProps) {
  const { data: request, error, isLoading } = useQuery(signedRequestQuery(event, endpoint.id));
  if (isLoading) return <Loading />;
  if (request === undefined || request === null)
    return (
      <>
        <Notice>{reasonOf(event.kind)} The body is what was sent.</Notice>
        {error !== null && <FailureNotice error={error} />}
        <Body text={JSON.stringify(event.body)} />
      </>
    );
  const shown = hideSecrets(request, endpoint);
  return (
    <>
      <p className="soft">As a first attempt would send it now. {sameBytes(endpoint, attempt)}</p>
      <Section
        level={3}
        label="Request headers"
        title={
          <>
            POST <span className="mono">{endpoint.url}</span>
          </>
        }
      >
        <HeaderFacts headers={shown.headers} />
      </Section>
      <Body text={request.body} />
      <Section
        level={3}
        title="curl"
        actions={<CopyButton text={toCurl(endpoint.url, request)} label="Copy the curl command" />}
      >
        <RawText label="curl command" text={toCurl(endpoint.url, shown)} />
        <p className="soft small">
          Verifiers accept its signature for five minutes.
          {shown.isHidden && ' Values shown as ******** are filled in when you copy it.'}
        </p>
      </Section>
    </>
  );
}

/** How the attempts differ. What an account is sent again is what it may still view. */
function sameBytes({ owner }: Schemas['Endpoint'], attempt: Attempt | undefined): string {
  if (owner !== '') return 'A resend contains what the account may view at that time.';
  const isLater = attempt !== undefined && attempt.number > 1;
  const differing = isLater ? '; only the number, the time and the signature differ' : '';
  return `The body has the same bytes on each attempt${differing}.`;
}

/** Why there are no headers. */
function reasonOf(kind: Schemas['Event']['kind']): string {
  if (isTest(kind)) return 'The API gives the signatures of a test to its receiver only.';
  if (isAddressed(kind))
    return 'The API gives the signatures of a backfill or a transition to its receivers only.';
  if (!kind.startsWith('record.'))
    return 'The API gives the signatures of an event about endpoints to its receivers only.';
  return maySign()
    ? 'The feed does not have this event, so there are no headers to show.'
    : 'Headers with fresh signatures are not shown to this API key.';
}

function Loading() {
  return <span className="placeholder" style={{ inlineSize: 240 }} aria-busy />;
}

function Body({ text }: { readonly text: string }) {
  return (
    <Section
      level={3}
      label="Request body"
      title="Body"
      actions={<CopyButton text={text} label="Copy the body" />}
    >
      <RawText label="Body" text={text} />
    </Section>
  );
}

const mask = '********';

/** The endpoint shows which of its own headers are secrets: their values stay out of the page. */
function hideSecrets(
  { headers, body }: SignedRequest,
  { headers: own }: Schemas['Endpoint'],
): SignedRequest & { readonly isHidden: boolean } {
  const hidden = new Set(
    Object.entries(own).flatMap(([name, value]) => (value === mask ? [name.toLowerCase()] : [])),
  );
  return {
    body,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, hidden.has(name.toLowerCase()) ? mask : value]),
    ),
    isHidden: hidden.size > 0,
  };
}

function toCurl(url: string, { headers, body }: SignedRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return [`curl -X POST ${quoted(url)}`, ...lines, `--data-binary ${quoted(body)}`].join(' \\\n  ');
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
