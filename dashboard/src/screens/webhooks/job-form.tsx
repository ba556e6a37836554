import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { type Collection, Failure } from '../../api/client.ts';
import type { Endpoint } from '../../api/events.ts';
import { type Job, jobCountQuery, startJob } from '../../api/replays.ts';
import { completeFilterOf } from '../../parts/complete-filter.ts';
import type { Field, Part, Values } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { type Form, useForm, withErrors } from '../../parts/form/use-form.ts';
import { FailureNotice } from '../../parts/notice.tsx';
import { Estimate } from './estimate.tsx';

interface JobFormProps {
  readonly endpoint: Endpoint;
  readonly kind: Job['kind'];
  readonly parts: readonly Part[];
  readonly values: Values;
  readonly toJob: (values: Values) => Job;
  readonly note: string;
  /** `3 records`. */
  readonly amount: (total: number) => string;
  readonly onStarted: (id: string) => void;
  /** Above the fields. */
  readonly children?: ReactNode;
}

/** Counts what a job would send before it can be sent. What is counted is what is sent: another choice has to be counted again. */
export function JobForm(props: JobFormProps) {
  const { endpoint, kind, parts, values, toJob, note, amount, onStarted, children } = props;
  const [asked, setAsked] = useState<{ readonly choice: string; readonly job: Job }>();
  const typed = useForm({
    name: `${kind}:${endpoint.id}`,
    prefix: 'job-',
    parts,
    values,
    isNew: true,
    save: async (body) => {
      if (job !== undefined && total !== undefined) {
        onStarted(await startJob(endpoint.id, job));
        return undefined;
      }
      setAsked({ choice: JSON.stringify(body), job: toJob(body) });
      return 'stays';
    },
  });
  const job = asked?.choice === JSON.stringify(typed.body) ? asked.job : undefined;
  const count = useQuery(jobCountQuery(endpoint.id, job));
  const total = job === undefined || count.isFetching ? undefined : count.data;
  const fields = count.error instanceof Failure ? count.error.fields : new Map<string, string>();
  const action = total === undefined ? 'Count' : total === 0 ? 'Nothing to send' : `Send ${amount(total)}`;
  return (
    <FormView
      form={withErrors(typed, fields)}
      layout="drawer"
      action={action}
      note={note}
      isReady={!count.isFetching && total !== 0}
      lead={
        <>
          <p className="mono wrap">{endpoint.url}</p>
          {children}
        </>
      }
    >
      {count.error !== null && fields.size === 0 && <FailureNotice error={count.error} />}
      {count.isFetching && <p role="status">Counting …</p>}
      {total !== undefined && <Estimate endpoint={endpoint} total={total} rate={job?.body.rate ?? 0} />}
    </FormView>
  );
}

interface Narrowing {
  readonly help: string;
  readonly mayFilter?: boolean;
  /** Of whose records the job is. */
  readonly chosenOf: (form: Form) => readonly Collection[];
  readonly collections: readonly Collection[];
}

/** What every job can be narrowed by. */
export function narrowingFields({
  help,
  mayFilter = true,
  chosenOf,
  collections,
}: Narrowing): readonly Field[] {
  return [
    {
      path: 'filter',
      kind: 'code',
      language: 'filter',
      complete: (text, caret, form) => completeFilterOf(chosenOf(form), { text, caret }, { collections }),
      label: 'Filter',
      placeholder: "state = 'paid'",
      help,
      // A key for some endpoints may not, where these are sent parts of records only.
      when: () => mayFilter,
    },
    {
      path: 'rate',
      kind: 'number',
      isNullable: true,
      label: 'Deliveries per second',
      help: 'Empty: the limit of the endpoint.',
    },
  ];
}

/** Returns the members of a request that were filled in. */
export function filledIn(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '' && value !== null));
}
