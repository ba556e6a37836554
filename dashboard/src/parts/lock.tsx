import { useQuery } from '@tanstack/react-query';
import Lock from 'lucide-react/icons/lock';
import LockOpen from 'lucide-react/icons/lock-open';
import { type ReactNode, useEffect, useEffectEvent, useSyncExternalStore } from 'react';
import type { Collection } from '../api/client.ts';
import { settingsQuery } from '../api/settings.ts';
import { IconButton } from './button.tsx';
import { Empty, LinkButton } from './empty.tsx';
import { showToast } from './toast.tsx';

/**
 * The setting `meta.hideControls` guards a service in production against changes by mistake, in the dashboard only: definitions are not
 * changed at all, and stored records after one more step. Whoever has no settings to read, as an API key, is not held back.
 */
export function useIsLocked(): boolean {
  return useQuery({ ...settingsQuery, select: ({ meta }) => meta.hideControls }).data === true;
}

let isUnlocked = false;
const changes = new EventTarget();

/** Whether stored records of the collection may be changed here: those of views never, locked ones once they are unlocked. */
export function useMayEdit({ type }: Pick<Collection, 'type'>): boolean {
  const isOpen = useSyncExternalStore(subscribe, () => isUnlocked);
  const isLocked = useIsLocked();
  return type !== 'view' && (isOpen || !isLocked);
}

/** Lets records be changed until the page is loaded again. */
export function unlockRecords(): void {
  setUnlocked(true);
}

function setUnlocked(next: boolean): void {
  isUnlocked = next;
  changes.dispatchEvent(new Event('change'));
}

function subscribe(listener: () => void): () => void {
  changes.addEventListener('change', listener);
  return () => changes.removeEventListener('change', listener);
}

/** Unlocks the records and locks them again; nothing where the setting is off. */
export function LockButton({ collection }: { readonly collection: Collection }) {
  const mayEdit = useMayEdit(collection);
  if (!useIsLocked() || collection.type === 'view') return null;
  return (
    <IconButton
      icon={mayEdit ? LockOpen : Lock}
      label={mayEdit ? 'Lock records' : 'Unlock records'}
      onClick={() => setUnlocked(!mayEdit)}
    />
  );
}

/** Says why a cell is not edited. */
export function LockedCell({ onClose }: { readonly onClose: () => void }) {
  const isLocked = useIsLocked();
  const close = useEffectEvent(onClose);
  useEffect(() => {
    showToast(
      isLocked
        ? 'Records are locked. Unlock them in the bar above the table.'
        : 'Views have no values of their own.',
    );
    close();
  }, [isLocked]);
  return null;
}

/** Shows what changes definitions, or why nothing does. */
export function UnlessLocked({ children }: { readonly children: ReactNode }) {
  if (!useIsLocked()) return children;
  return (
    <Empty
      icon={Lock}
      title="Collections are locked"
      actions={
        <LinkButton link={{ to: '/settings/$section', params: { section: 'general' } }}>
          Go to settings
        </LinkButton>
      }
    >
      A setting prevents changes to definitions in the dashboard.
    </Empty>
  );
}
