import Braces from 'lucide-react/icons/braces';
import Globe from 'lucide-react/icons/globe';
import Lock from 'lucide-react/icons/lock';
import UserRoundCheck from 'lucide-react/icons/user-round-check';
import type { RuleKind } from '../api/definitions.ts';

const icons = { locked: Lock, public: Globe, signedIn: UserRoundCheck, expression: Braces };

export const ruleKindNames: Readonly<Record<RuleKind, string>> = {
  public: 'Everyone',
  signedIn: 'Signed in',
  expression: 'Expression',
  locked: 'Superusers only',
};

/** Who passes a rule, by its colour and its shape. */
export function RuleMark({ kind, size = 14 }: { readonly kind: RuleKind; readonly size?: number }) {
  const Icon = icons[kind];
  return (
    <span className="rule-mark" data-kind={kind}>
      <Icon size={size} aria-hidden />
    </span>
  );
}
