import { type UsageSpan, usageSpans } from '../../api/operator.ts';

const spanTexts: Readonly<Record<UsageSpan, string>> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '12m': '12 months',
};

interface SpanChoiceProps {
  readonly span: UsageSpan;
  readonly onChange: (span: UsageSpan) => void;
}

/** The time that the address names; a day by default. */
export function spanOf({ span }: { readonly span?: string }): UsageSpan {
  return usageSpans.find((one) => one === span) ?? '24h';
}

export function SpanChoice({ span, onChange }: SpanChoiceProps) {
  return (
    <div className="segments" role="radiogroup" aria-label="Time">
      {usageSpans.map((one) => (
        <button
          key={one}
          type="button"
          role="radio"
          aria-checked={one === span}
          onClick={() => onChange(one)}
        >
          {spanTexts[one]}
        </button>
      ))}
    </div>
  );
}
