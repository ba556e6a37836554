import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import CircleDashed from 'lucide-react/icons/circle-dashed';
import CirclePause from 'lucide-react/icons/circle-pause';
import CircleSlash from 'lucide-react/icons/circle-slash';
import Clock from 'lucide-react/icons/clock';
import Lock from 'lucide-react/icons/lock';
import RotateCw from 'lucide-react/icons/rotate-cw';
import type { LucideIcon } from 'lucide-react';
import { Badge } from './badge.tsx';
import type { EndpointTone, EndpointWord } from './endpoint-words.ts';

/** A shape for each word: what is paused, by hand or by the service, must not look as what fails. */
const icons: Readonly<Record<EndpointWord, LucideIcon>> = {
  Active: CircleCheck,
  Failing: CircleAlert,
  Blocked: Lock,
  'Coming back': RotateCw,
  Held: Clock,
  Paused: CirclePause,
  Disabled: CircleSlash,
  Unverified: CircleDashed,
};

/** How an endpoint stands: by a shape, a colour and a word. */
export function EndpointBadge({ tone, word }: { readonly tone: EndpointTone; readonly word: EndpointWord }) {
  return (
    <Badge tone={tone} icon={icons[word]}>
      {word}
    </Badge>
  );
}
