import { catcherIdOf } from '../../api/catchers.ts';
import { choicesOf } from '../../api/members-of.ts';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import type { Schemas } from '../../api/schema.ts';
import type { Part } from '../../parts/form/field.ts';
import { PartViews } from '../../parts/form/form-view.tsx';
import { type Form, useForm } from '../../parts/form/use-form.ts';
import { Section } from '../../parts/section.tsx';
import { CatcherRequests } from './catcher-requests.tsx';
import { SendTest } from './send-test.tsx';

type TestEvent = NonNullable<Schemas['EndpointTest']['event']>;

const testEvents = choicesOf<TestEvent>({
  ping: 'ping',
  'record.create': 'record.create',
  'record.update': 'record.update',
  'record.delete': 'record.delete',
});

/** A test at any time, also while it is paused; with the built-in catcher it shows what came. */
export function TestTab({ endpoint }: { readonly endpoint: Endpoint }) {
  const catcher = catcherIdOf(endpoint.url);
  const collections = useToldCollections(endpoint);
  const form = useForm({
    name: `test:${endpoint.id}`,
    prefix: 'test-',
    parts: testParts(collections),
    values: { event: 'ping', collection: collections[0] ?? '', recordId: '' },
    isNew: true,
    save: () => Promise.resolve(),
  });
  const isPing = form.value('event') === 'ping';
  return (
    <>
      <Section title="Send a test">
        <p className="soft">
          Sent once, immediately, and to this endpoint only, even while it is paused. Signed like any other,
          never retried, and excluded from statistics.
        </p>
        {!isBoundToEndpoints() && <PartViews form={form} parts={form.parts} />}
        <SendTest
          endpoint={endpoint.id}
          test={isPing ? {} : form.body}
          isReady={isPing || (form.value('collection') !== '' && form.value('recordId') !== '')}
        />
      </Section>
      {catcher !== '' && !isBoundToEndpoints() && <CatcherRequests id={catcher} />}
    </>
  );
}

function useToldCollections({ collections }: Endpoint): readonly string[] {
  const all = useLoadedCollections() ?? [];
  return all
    .filter(({ id, name }) => !name.startsWith('_') && (collections.length === 0 || collections.includes(id)))
    .map(({ name }) => name);
}

function testParts(collections: readonly string[]): readonly Part[] {
  const when = (form: Form): boolean => form.value('event') !== 'ping';
  return [
    { path: 'event', kind: 'choice', label: 'Event', choices: testEvents },
    {
      path: 'collection',
      kind: 'choice',
      label: 'Collection',
      choices: collections.map((name) => ({ value: name, label: name })),
      when,
    },
    {
      path: 'recordId',
      kind: 'text',
      isMono: true,
      label: 'Record',
      placeholder: 'r4nd0m1d0000001',
      help: 'Its id. The current record is sent.',
      when,
    },
  ];
}
