import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import CircleCheck from 'lucide-react/icons/circle-check';
import CircleDashed from 'lucide-react/icons/circle-dashed';
import { useState, type FormEvent, type ReactNode } from 'react';
import { call, type Collection, Failure } from '../../api/client.ts';
import { collectionStatsQuery, endpointsQuery } from '../../api/last-day.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { LinkButton } from '../../parts/empty.tsx';
import { InputField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Section } from '../../parts/section.tsx';

/** The way to the first webhook, for an instance in which something of it is still missing: collection, record, endpoint. */
export function StartSteps({ collections }: { readonly collections: readonly Collection[] | undefined }) {
  // Not `users`, which every instance begins with.
  const own = collections?.filter(({ system, type }) => !system && type === 'base');
  const { data: endpoints } = useQuery(endpointsQuery);
  // Who comes back from making a record looks for its tick, so the count of a moment ago will not do.
  const { data: stats } = useQuery({ ...collectionStatsQuery, refetchOnMount: 'always' });
  if (own === undefined || endpoints === undefined) return null;
  if (own.length > 0 && stats === undefined) return null;
  const [first] = own;
  const hasRecord = stats?.collections.some(({ type, records }) => type === 'base' && records !== 0) === true;
  const hasEndpoint = endpoints.length > 0;
  if (first !== undefined && hasRecord && hasEndpoint) return null;
  return (
    <Section title="Your first webhook" note="in three steps">
      <ol className="start-steps">
        <Step title="Create a collection" isDone={first !== undefined}>
          <p className="soft">A table of records with the same fields: posts, orders, customers.</p>
          {first === undefined ? <CollectionForm /> : <p className="mono">{first.name}</p>}
        </Step>
        <Step title="Create a record" isDone={hasRecord}>
          <p className="soft">Here, or with any PocketBase SDK.</p>
          {first !== undefined && !hasRecord && (
            <LinkButton
              tone="primary"
              link={{ to: '/c/$collection', params: { collection: first.name }, search: { record: 'new' } }}
            >
              New record in {first.name}
            </LinkButton>
          )}
        </Step>
        <Step title="Add an endpoint" isDone={hasEndpoint}>
          <p className="soft">
            The URL that receives each change. No URL yet? The built-in catcher shows what would arrive.
          </p>
          {!hasEndpoint && (
            <LinkButton
              tone={hasRecord ? 'primary' : undefined}
              link={{ to: '/webhooks', search: { create: 'catcher' } }}
            >
              Try it with the catcher
            </LinkButton>
          )}
        </Step>
      </ol>
    </Section>
  );
}

interface StepProps {
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}

function Step({ title, isDone, children }: StepProps) {
  const Icon = isDone ? CircleCheck : CircleDashed;
  return (
    <li className="panel start-step" data-done={isDone ? '' : undefined}>
      <h3>
        <Icon size={16} aria-hidden />
        {title}
        {isDone && <span className="unseen">, done</span>}
      </h3>
      {children}
    </li>
  );
}

/** A collection to begin with. Fields are added later, in its schema. */
function CollectionForm() {
  const queries = useQueryClient();
  const [name, setName] = useState('posts');
  const { error, isBusy, attempt } = useAttempt();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    attempt(async () => {
      await call('POST /api/collections', { body: { name: name.trim(), type: 'base', fields: startFields } });
      await queries.invalidateQueries({ queryKey: ['collections'] });
    });
  };
  const message = error instanceof Failure ? error.fields.get('name') : undefined;
  return (
    <form className="section" noValidate onSubmit={submit}>
      <InputField
        id="collection-name"
        label="Name"
        help="Starts with the fields title, text, created and updated."
        error={message}
        value={name}
        onText={setName}
      />
      {error !== undefined && message === undefined && <FailureNotice error={error} />}
      <Button type="submit" tone="primary" disabled={isBusy}>
        Create collection
      </Button>
      <Link to="/new-collection">Or define the fields yourself</Link>
    </form>
  );
}

const startFields = [
  { name: 'title', type: 'text', required: true, presentable: true },
  { name: 'text', type: 'text' },
  { name: 'created', type: 'autodate', onCreate: true },
  { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
] as const;
