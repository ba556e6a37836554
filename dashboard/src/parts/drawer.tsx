import X from 'lucide-react/icons/x';
import type { ReactNode } from 'react';
import { useKeys } from '../browser/keys.ts';
import { IconButton } from './button.tsx';

interface DrawerProps {
  readonly title: string;
  /** What it is called where the title is about what it shows. */
  readonly label?: string;
  /** In front of the button that closes it. */
  readonly actions?: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** What is done beside a screen that stays as it is. Esc closes it. */
export function Drawer({ title, label = title, actions, onClose, children }: DrawerProps) {
  useKeys({ Escape: onClose });
  return (
    <aside className="drawer" aria-label={label}>
      <header className="drawer-head">
        <div className="drawer-title">
          <h2 className="cut">{title}</h2>
        </div>
        {actions}
        <IconButton icon={X} label="Close" keys="esc" onClick={onClose} />
      </header>
      {children}
    </aside>
  );
}
