import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import CirclePause from 'lucide-react/icons/circle-pause';
import RotateCw from 'lucide-react/icons/rotate-cw';
import type { EndpointTone } from './endpoint-words.ts';

const icons = { ok: CircleCheck, failed: CircleAlert, retrying: RotateCw, paused: CirclePause };

/** How an endpoint stands: by a shape, a colour and a word. */
export function EndpointBadge({ tone, word }: { readonly tone: EndpointTone; readonly word: string }) {
  const Icon = icons[tone];
  return (
    <span className="badge" data-tone={tone}>
      <Icon size={14} aria-hidden />
      {word}
    </span>
  );
}
