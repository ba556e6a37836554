import { catcherIdOf } from '../../api/catchers.ts';
import { choicesOf } from '../../api/members-of.ts';
import type { Endpoint } from '../../api/events.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { useState } from 'react';
import { useLoadedCollections } from '../../api/collections.ts';
import type { Schemas } from '../../api/schema.ts';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { CatcherRequests } from './catcher-requests.tsx';
import { SendTest } from './send-test.tsx';

type TestEvent = NonNullable<Schemas['EndpointTest']['event']>;

const testEvents = choicesOf<TestEvent>({
  ping: 'ping, without a record',
  'record.create': 'record.create, with a record',
  'record.update': 'record.update, with a record',
  'record.delete': 'record.delete, with a record',
});

/** A test at any time, also while it is paused; with the built-in catcher it shows what came. */
export function TestTab({ endpoint }: { readonly endpoint: Endpoint }) {
  const catcher = catcherIdOf(endpoint.url);
  const [test, setTest] = useState({ event: testEvents[0]?.value ?? 'ping', collection: '', recordId: '' });
  const isPing = test.event === 'ping';
  return (
    <>
      <section className="section" aria-labelledby="test">
        <h2 id="test">Send a test</h2>
        <p className="soft">
          Sent once and right away, even while the endpoint is paused. It is signed like any other, is not
          retried, is left out of the statistics, and goes to no other endpoint.
        </p>
        {!isBoundToEndpoints() && (
          <TestChoice
            endpoint={endpoint}
            test={test}
            onChange={(change) => setTest({ ...test, ...change })}
          />
        )}
        <SendTest
          endpoint={endpoint.id}
          test={isPing ? {} : test}
          isReady={isPing || (test.collection !== '' && test.recordId.trim() !== '')}
        />
      </section>
      {catcher !== '' && !isBoundToEndpoints() && <CatcherRequests id={catcher} />}
    </>
  );
}

interface TestChoiceProps {
  readonly endpoint: Endpoint;
  readonly test: { readonly event: TestEvent; readonly collection: string; readonly recordId: string };
  readonly onChange: (change: Partial<TestChoiceProps['test']>) => void;
}

function TestChoice({ endpoint, test, onChange }: TestChoiceProps) {
  const { event, collection, recordId } = test;
  const all = useLoadedCollections()?.filter(({ name }) => !name.startsWith('_')) ?? [];
  const told =
    endpoint.collections.length === 0 ? all : all.filter(({ id }) => endpoint.collections.includes(id));
  return (
    <div className="endpoint-numbers">
      <LabelledField id="test-event" label="Event">
        <select
          id="test-event"
          className="input"
          value={event}
          onChange={({ target }) => {
            const chosen = testEvents.find(({ value }) => value === target.value)?.value ?? 'ping';
            onChange({ event: chosen, collection: collection || (told[0]?.name ?? '') });
          }}
        >
          {testEvents.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </LabelledField>
      {event !== 'ping' && (
        <>
          <LabelledField id="test-collection" label="Collection">
            <select
              id="test-collection"
              className="input"
              value={collection}
              onChange={({ target }) => onChange({ collection: target.value })}
            >
              {told.map(({ id, name }) => (
                <option key={id} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </LabelledField>
          <LabelledField id="test-record" label="Record" help="Its id. It is sent as it is now.">
            <input
              id="test-record"
              className="input mono"
              placeholder="r4nd0m1d0000001"
              value={recordId}
              spellCheck={false}
              autoComplete="off"
              onChange={({ target }) => onChange({ recordId: target.value.trim() })}
            />
          </LabelledField>
        </>
      )}
    </div>
  );
}
