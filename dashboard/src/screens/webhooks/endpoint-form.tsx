import { useMutation, useQuery } from '@tanstack/react-query';
import Inbox from 'lucide-react/icons/inbox';
import { useEffect } from 'react';
import { createCatcher } from '../../api/catchers.ts';
import { fieldMessages } from '../../api/client.ts';
import { useOwnCollections } from '../../api/collections.ts';
import { type EndpointCheck, type EndpointDraft, endpointCheckQuery } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints, mayChangeWebhooks } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import type { Values } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { type Form, useForm, withErrors } from '../../parts/form/use-form.ts';
import { kindNames } from '../../parts/delivery-words.ts';
import { Facts } from '../../parts/facts.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Section } from '../../parts/section.tsx';
import { Time } from '../../parts/time.tsx';
import { useSettled } from '../../parts/use-settled.ts';
import { endpointParts, newEndpoint } from './endpoint-parts.ts';
import { FilterNotes } from './filter-notes.tsx';
import { Forecast } from './forecast.tsx';

interface EndpointFormProps {
  /** The one that is changed; undefined for a new one. */
  readonly endpoint?: Endpoint;
  readonly save: (body: Values) => Promise<unknown>;
  /** A new one begins with the URL of a catcher. */
  readonly hasCatcher?: boolean;
}

/** Where webhooks go, which ones, and how. Whatever is typed is checked by the service while one types; nothing is sent there. */
export function EndpointForm({ endpoint, save, hasCatcher = false }: EndpointFormProps) {
  const collections = useOwnCollections();
  const isNew = endpoint === undefined;
  const isBound = isBoundToEndpoints();
  const typed = useForm({
    name: `endpoint:${endpoint?.id ?? 'new'}`,
    prefix: 'endpoint-',
    parts: endpointParts({ collections, isNew, isBound }),
    values: { ...(endpoint ?? newEndpoint) },
    isNew,
    save,
  });
  const { check, isCurrent, error } = useCheck(typed, endpoint?.id);
  const problems = new Map(fieldMessages(check?.problems, ''));
  if (typed.value('url') === '') problems.delete('url');
  const form = withErrors(typed, problems);
  return (
    <FormView
      form={form}
      layout={isNew ? 'drawer' : 'page'}
      label={isNew ? 'New endpoint' : 'Options'}
      action={isNew ? 'Create endpoint' : 'Save'}
      note="The next step shows its signing secret, once."
      isLocked={!mayChangeWebhooks()}
      lead={isNew && <CatcherButton form={form} isWanted={hasCatcher} />}
      extras={{
        url: <UrlVerdict form={form} check={check} />,
        description: isBound && endpoint !== undefined && <ToldFacts endpoint={endpoint} />,
        filter: (
          <FilterNotes form={form} isChecked={isCurrent} warnings={(isCurrent && check?.warnings) || []} />
        ),
        schedule: <Forecast check={check} />,
        clientCertificate: <CertificateFacts form={form} endpoint={endpoint} />,
      }}
    >
      {error !== null && <FailureNotice error={error} />}
    </FormView>
  );
}

function useCheck(form: Form, id: string | undefined) {
  // A URL that is not there yet is no mistake.
  const { url, ...rest } = form.body;
  const text = JSON.stringify({ ...rest, ...(url !== '' && { url }), ...(id !== undefined && { id }) });
  const settled = useSettled(text);
  // It is what was made of the options above.
  const draft = JSON.parse(settled) as EndpointDraft;
  const { data, error, isPlaceholderData } = useQuery(endpointCheckQuery(draft));
  const check: EndpointCheck | undefined = data;
  return { check, error, isCurrent: settled === text && check !== undefined && !isPlaceholderData };
}

function UrlVerdict({ form, check }: { readonly form: Form; readonly check: EndpointCheck | undefined }) {
  if (check === undefined || form.value('url') === '') return null;
  const { isAllowed, remedy } = check.url;
  if (isAllowed && !form.errors.has('url')) return <p className="field-help form-note">URL allowed.</p>;
  if (isAllowed || remedy === undefined) return null;
  return (
    <p className="field-help form-note">
      The operator can allow it: start the service with <span className="mono">{remedy}</span>
    </p>
  );
}

interface CertificateFactsProps {
  readonly form: Form;
  readonly endpoint: Endpoint | undefined;
}

/** What the stored certificate says. */
function CertificateFacts({ form, endpoint }: CertificateFactsProps) {
  const certificate = endpoint?.clientCertificate ?? null;
  if (certificate === null || form.value('clientCertificate') === null) return null;
  const { subject, issuer, fingerprint, expires = '' } = certificate;
  return (
    <Facts
      label="The stored certificate"
      items={{
        Subject: subject,
        Issuer: issuer,
        Expires: <Time value={expires} />,
        'SHA-256': <span className="mono wrap">{fingerprint}</span>,
      }}
    />
  );
}

/** What the endpoint is sent, for an API key that may not change that. */
function ToldFacts({ endpoint }: { readonly endpoint: Endpoint }) {
  const { events, collections, payload, fields, filter } = endpoint;
  return (
    <Section title="What it is sent">
      <Facts
        items={{
          'When a record is': events.map((kind) => kindNames[kind].toLowerCase()).join(', '),
          Collections: collections.length === 0 ? 'All' : collections.length.toLocaleString(),
          If: filter !== '' && <span className="mono">{filter}</span>,
          'Of a record':
            payload === 'thin' ? 'Its id alone' : fields.length === 0 ? 'All fields' : fields.join(', '),
        }}
      />
      <p className="soft small">Only the creator of the endpoint can change this.</p>
    </Section>
  );
}

const catcherName = 'Built-in catcher';

interface CatcherButtonProps {
  readonly form: Form;
  /** Whether it is used at once. */
  readonly isWanted: boolean;
}

/** Takes the URL of a catcher, which shows what it is sent. */
function CatcherButton({ form, isWanted }: CatcherButtonProps) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: createCatcher,
    onSuccess: ({ url }) => {
      form.set('url', url);
      if (form.value('description') === '') form.set('description', catcherName);
    },
  });
  useEffect(() => {
    if (isWanted) mutate();
  }, [isWanted, mutate]);
  return (
    <>
      <div>
        <Button icon={Inbox} disabled={isPending} onClick={() => mutate()}>
          Use the built-in catcher
        </Button>
      </div>
      {error !== null && <FailureNotice error={error} />}
    </>
  );
}
