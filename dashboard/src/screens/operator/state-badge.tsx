import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import CirclePause from 'lucide-react/icons/circle-pause';
import RotateCw from 'lucide-react/icons/rotate-cw';
import type { ManagedInstance } from '../../api/operator.ts';
import { Badge } from '../../parts/badge.tsx';

export const stateTexts = {
  active: 'Active',
  suspended: 'Suspended',
  replacing: 'Restoring',
  deleted: 'Deleted',
} as const satisfies Record<ManagedInstance['state'], string>;

const looks = {
  active: { tone: 'ok', icon: CircleCheck },
  suspended: { tone: 'retrying', icon: CirclePause },
  replacing: { tone: 'waiting', icon: RotateCw },
  deleted: { tone: 'failed', icon: CircleAlert },
} as const;

/** Each state has a shape of its own, as not everybody sees colours. */
export function StateBadge({ state }: { readonly state: ManagedInstance['state'] }) {
  return <Badge {...looks[state]}>{stateTexts[state]}</Badge>;
}
