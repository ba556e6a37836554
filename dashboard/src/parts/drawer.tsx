import X from 'lucide-react/icons/x';
import type { ReactNode } from 'react';
import { useKeys } from '../browser/keys.ts';
import { IconButton } from './button.tsx';

interface DrawerProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** What is done beside a screen that stays as it is. Esc closes it. */
export function Drawer({ title, onClose, children }: DrawerProps) {
  useKeys({ Escape: onClose });
  return (
    <aside className="drawer" aria-label={title}>
      <header className="drawer-head">
        <div className="drawer-title">
          <h2>{title}</h2>
        </div>
        <IconButton icon={X} label="Close" keys="esc" onClick={onClose} />
      </header>
      {children}
    </aside>
  );
}
