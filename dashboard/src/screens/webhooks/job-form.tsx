import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Failure } from '../../api/client.ts';
import type { Endpoint } from '../../api/events.ts';
import { type Job, jobCountQuery, startJob } from '../../api/replays.ts';
import { Button } from '../../parts/button.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Estimate } from './estimate.tsx';

interface JobFormProps<Choice> {
  readonly endpoint: Endpoint;
  /** What is chosen: another object with each change. */
  readonly choice: Choice;
  /** Undefined while something is missing. */
  readonly toJob: (choice: Choice) => Job | undefined;
  readonly note: string;
  /** `3 records`. */
  readonly amount: (total: number) => string;
  readonly onStarted: (id: string) => void;
  /** The fields, with what the service says of each by its name. */
  readonly children: (fields: ReadonlyMap<string, string>) => ReactNode;
}

/** Counts what a job would send before it can be sent. What is counted is what is sent: another choice has to be counted again. */
export function JobForm<Choice>(props: JobFormProps<Choice>) {
  const { endpoint, choice, toJob, note, amount, onStarted, children } = props;
  const [asked, setAsked] = useState<{ readonly choice: Choice; readonly job: Job }>();
  const [refused, setRefused] = useState<{ readonly choice: Choice; readonly cause: unknown }>();
  const [isBusy, setIsBusy] = useState(false);
  const job = asked?.choice === choice ? asked.job : undefined;
  const count = useQuery(jobCountQuery(endpoint.id, job));
  const total = job === undefined || count.isFetching ? undefined : count.data;
  const failure = refused?.choice === choice ? refused.cause : (count.error ?? undefined);
  const fields = failure instanceof Failure ? failure.fields : new Map<string, string>();
  const start = async (begun: Job): Promise<void> => {
    setIsBusy(true);
    try {
      onStarted(await startJob(endpoint.id, begun));
    } catch (cause) {
      setRefused({ choice, cause });
      setIsBusy(false);
    }
  };
  const submit = (): void => {
    if (job !== undefined && total !== undefined) void start(job);
    else {
      const next = toJob(choice);
      if (next !== undefined) setAsked({ choice, job: next });
    }
  };
  return (
    <form
      className="drawer-body endpoint-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="drawer-form">
        <p className="mono wrap">{endpoint.url}</p>
        {children(fields)}
        {failure !== undefined && fields.size === 0 && <FailureNotice error={failure} />}
        {count.isFetching && <p role="status">Counting …</p>}
        {total !== undefined && <Estimate endpoint={endpoint} total={total} rate={job?.body.rate ?? 0} />}
      </div>
      <div className="drawer-foot">
        <span className="drawer-foot-note">{note}</span>
        {total === undefined ? (
          <Button type="submit" tone="primary" disabled={count.isFetching || toJob(choice) === undefined}>
            Count
          </Button>
        ) : (
          <Button type="submit" tone="primary" disabled={isBusy || total === 0}>
            {total === 0 ? 'Nothing to send' : `Send ${amount(total)}`}
          </Button>
        )}
      </div>
    </form>
  );
}

/** What every job can be narrowed by, as it is typed. */
export interface Narrowing {
  readonly filter: string;
  readonly rate: string;
}

/** Returns the members of a request for what was typed. */
export function narrowingOf({ filter, rate }: Narrowing): {
  readonly filter?: string;
  readonly rate?: number;
} {
  return {
    ...(filter.trim() !== '' && { filter: filter.trim() }),
    ...(/^\d+$/.test(rate.trim()) && { rate: Number(rate.trim()) }),
  };
}

interface NarrowingFieldsProps {
  readonly values: Narrowing;
  readonly filterHelp: string;
  /** A key for some endpoints may not, where these are sent parts of records only. */
  readonly mayFilter: boolean;
  readonly fields: ReadonlyMap<string, string>;
  readonly onChange: (part: Partial<Narrowing>) => void;
}

export function NarrowingFields({ values, filterHelp, mayFilter, fields, onChange }: NarrowingFieldsProps) {
  return (
    <>
      {mayFilter && (
        <LabelledField id="job-filter" label="Filter" help={filterHelp} error={fields.get('filter')}>
          <input
            id="job-filter"
            className="input mono"
            placeholder="state = 'paid'"
            value={values.filter}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => onChange({ filter: event.target.value })}
            {...errorAttributes('job-filter', fields.get('filter'))}
          />
        </LabelledField>
      )}
      <LabelledField
        id="job-rate"
        label="Deliveries per second"
        help="Empty for no limit but that of the endpoint."
        error={fields.get('rate')}
      >
        <input
          id="job-rate"
          className="input"
          inputMode="numeric"
          value={values.rate}
          autoComplete="off"
          onChange={(event) => onChange({ rate: event.target.value })}
          {...errorAttributes('job-rate', fields.get('rate'))}
        />
      </LabelledField>
    </>
  );
}
