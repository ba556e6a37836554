import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import Clock from 'lucide-react/icons/clock';
import RotateCw from 'lucide-react/icons/rotate-cw';
import { Badge } from './badge.tsx';
import type { DeliveryTone } from './delivery-words.ts';

const icons = { ok: CircleCheck, failed: CircleAlert, retrying: RotateCw, waiting: Clock };

/** What became of a delivery. Each tone has a shape of its own, as not everybody sees colours. */
export function DeliveryBadge({ tone, text }: { readonly tone: DeliveryTone; readonly text: string }) {
  return (
    <Badge tone={tone} icon={icons[tone]}>
      {text}
    </Badge>
  );
}
