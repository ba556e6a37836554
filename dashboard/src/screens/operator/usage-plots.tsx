import { useQuery } from '@tanstack/react-query';
import { type UsageName, type UsageSeries, type UsageSpan, usageQuery } from '../../api/operator.ts';
import { Figure } from '../../parts/figure.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Plot } from '../../parts/plot.tsx';
import { Section } from '../../parts/section.tsx';
import { bytesText } from './instance-values.ts';
import { SpanChoice } from './span-choice.tsx';

interface UsagePlotsProps {
  readonly id: string;
  readonly span: UsageSpan;
  readonly onSpan: (span: UsageSpan) => void;
}

/** What an instance has used, by hours or days. */
export function UsagePlots({ id, span, onSpan }: UsagePlotsProps) {
  const { data: usage, error, refetch } = useQuery(usageQuery(id, span));
  return (
    <Section title="Usage" actions={<SpanChoice span={span} onChange={onSpan} />}>
      {error === null ? (
        <>
          <Figures usage={usage} />
          <Plots usage={usage} />
        </>
      ) : (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

type GaugeName = 'records' | 'dataBytes';

function sumsOf(usage: UsageSeries | undefined, name: UsageName): readonly number[] {
  return usage?.items.map((item) => item?.[name] ?? 0) ?? [];
}

function gaugesOf(usage: UsageSeries | undefined, name: GaugeName): readonly (number | null)[] {
  return usage?.items.map((item) => item?.[name] ?? null) ?? [];
}

function Figures({ usage }: { readonly usage: UsageSeries | undefined }) {
  const sum = (name: UsageName): number => sumsOf(usage, name).reduce((total, value) => total + value, 0);
  const last = (name: GaugeName, format: (value: number) => string): string => {
    const value = gaugesOf(usage, name).findLast((one) => one !== null) ?? null;
    return value === null ? '–' : format(value);
  };
  const figures = {
    Requests: sum('requests'),
    Writes: sum('writes'),
    Deliveries: sum('deliveries'),
    Sent: bytesText(sum('sentBytes')),
    Records: last('records', (value) => value.toLocaleString()),
    Data: last('dataBytes', bytesText),
  };
  return (
    <div className="figures">
      {Object.entries(figures).map(([name, value]) => (
        <Figure key={name} name={name} value={usage && value} />
      ))}
    </div>
  );
}

function Plots({ usage }: { readonly usage: UsageSeries | undefined }) {
  const writes = sumsOf(usage, 'writes');
  const reads = sumsOf(usage, 'requests').map((count, index) => Math.max(0, count - (writes[index] ?? 0)));
  const common = { step: usage?.step ?? 'hour', times: usage?.times } as const;
  return (
    <div className="plots">
      <Plot
        {...common}
        caption="Requests"
        kind="bars"
        series={[
          { name: 'reads', tone: 'accent', values: reads },
          { name: 'writes', tone: 'ok', values: writes },
        ]}
      />
      <Plot
        {...common}
        caption="Webhooks"
        kind="lines"
        series={[
          { name: 'events', tone: 'accent', values: sumsOf(usage, 'events') },
          { name: 'deliveries', tone: 'ok', values: sumsOf(usage, 'deliveries') },
        ]}
      />
      <Plot
        {...common}
        caption="Sent"
        kind="bars"
        format={bytesText}
        series={[{ name: 'bytes', tone: 'accent', values: sumsOf(usage, 'sentBytes') }]}
      />
      <Plot
        {...common}
        caption="Data"
        kind="lines"
        format={bytesText}
        series={[{ name: 'bytes', tone: 'accent', values: gaugesOf(usage, 'dataBytes') }]}
      />
    </div>
  );
}
