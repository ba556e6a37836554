import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from '../../api/events.ts';
import { replayQuery } from '../../api/replays.ts';
import { Drawer } from '../../parts/drawer.tsx';
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
  const { data } = useQuery({ ...replayQuery(id), enabled: id !== 'new' && id !== 'backfill' });
  const title = id === 'backfill' || data?.scope === 'backfill' ? 'Backfill' : 'Replay';
  return (
    <Drawer title={title} onClose={onClose}>
      {id === 'new' && <ReplayForm endpoint={endpoint} onStarted={onStarted} />}
      {id === 'backfill' && <BackfillForm endpoint={endpoint} onStarted={onStarted} />}
      {id !== 'new' && id !== 'backfill' && <ReplayProgress endpoint={endpoint} id={id} />}
    </Drawer>
  );
}
