import { choicesOf } from '../../api/members-of.ts';
import type { UsageSpan } from '../../api/operator.ts';
import { Segments } from '../../parts/radio-list.tsx';

const spans = choicesOf<UsageSpan>({
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '12m': '12 months',
});

interface SpanChoiceProps {
  readonly span: UsageSpan;
  readonly onChange: (span: UsageSpan) => void;
}

/** The time that the address names; a day by default. */
export function spanOf({ span }: { readonly span?: string }): UsageSpan {
  return spans.find(({ value }) => value === span)?.value ?? '24h';
}

export function SpanChoice({ span, onChange }: SpanChoiceProps) {
  return <Segments label="Time" choices={spans} value={span} onChange={onChange} />;
}
