import { useQuery } from '@tanstack/react-query';
import { ruleCheckQuery } from '../../api/definitions.ts';
import { useSettled } from '../../parts/use-settled.ts';

interface RuleProblemProps {
  /** The stored collection that the rule is for. */
  readonly collection: string;
  readonly rule: string;
}

/** What is wrong with a rule that is being typed, and where. Nothing while it is well-formed, or not known yet. */
export function RuleProblem({ collection, rule }: RuleProblemProps) {
  const settled = useSettled(rule);
  const { data: check } = useQuery(ruleCheckQuery(collection, settled));
  if (settled !== rule || check === undefined || check.isValid) return null;
  const { before, after } = excerptAt(rule, check.position ?? 0);
  return (
    <div className="rule-problem" role="status">
      <div className="rule-excerpt" aria-hidden>
        {before}
        <mark>{after}</mark>
      </div>
      {check.message}
    </div>
  );
}

const excerptLength = 28;

/** The text around a position, in one line. */
function excerptAt(rule: string, position: number): { readonly before: string; readonly after: string } {
  const text = rule.replaceAll(/\s/g, ' ');
  const start = Math.max(0, position - excerptLength);
  const end = position + excerptLength;
  return {
    before: `${start > 0 ? '…' : ''}${text.slice(start, position)}`,
    after: position >= text.length ? ' ' : `${text.slice(position, end)}${end < text.length ? '…' : ''}`,
  };
}
