import { useQuery } from '@tanstack/react-query';
import X from 'lucide-react/icons/x';
import type { Endpoint } from '../../api/events.ts';
import { replayQuery } from '../../api/replays.ts';
import { useKeys } from '../../browser/keys.ts';
import { IconButton } from '../../parts/button.tsx';
import { BackfillForm } from './backfill-form.tsx';
import { ReplayForm } from './replay-form.tsx';
import { ReplayProgress } from './replay-progress.tsx';

interface ReplayDrawerProps {
  readonly endpoint: Endpoint;
  /** `new` for a replay that is still to begin, `backfill` for such a backfill. */
  readonly id: string;
  readonly onStarted: (id: string) => void;
  readonly onClose: () => void;
}

/**
 * Sends past events again, or existing records: first what that comes to, then how far it is. The address has its id, so a reload loses
 * nothing.
 */
export function ReplayDrawer({ endpoint, id, onStarted, onClose }: ReplayDrawerProps) {
  useKeys({ Escape: onClose });
  const { data } = useQuery({ ...replayQuery(id), enabled: id !== 'new' && id !== 'backfill' });
  const title = id === 'backfill' || data?.scope === 'backfill' ? 'Backfill' : 'Replay';
  return (
    <aside className="drawer" aria-label={title}>
      <header className="drawer-head">
        <div className="drawer-title">
          <h2>{title}</h2>
        </div>
        <IconButton label="Close" keys="esc" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      {id === 'new' && <ReplayForm endpoint={endpoint} onStarted={onStarted} />}
      {id === 'backfill' && <BackfillForm endpoint={endpoint} onStarted={onStarted} />}
      {id !== 'new' && id !== 'backfill' && <ReplayProgress endpoint={endpoint} id={id} />}
    </aside>
  );
}
