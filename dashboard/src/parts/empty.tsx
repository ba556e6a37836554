import type { LucideIcon } from 'lucide-react';
import { isValidElement, type ReactElement, type ReactNode } from 'react';
import { Code } from './code.tsx';

interface EmptyProps {
  readonly icon: LucideIcon | ReactElement;
  readonly title: string;
  readonly children: ReactNode;
  readonly actions?: ReactNode;
  /** How a program does the same. */
  readonly code?: string;
}

/** A place where nothing is yet: what belongs here, one action, and the same for programs. */
export function Empty({ icon: Icon, title, children, actions, code }: EmptyProps) {
  return (
    <div className="empty">
      {isValidElement(Icon) ? Icon : <Icon size={24} strokeWidth={1.5} aria-hidden />}
      <h2>{title}</h2>
      <p className="soft">{children}</p>
      {actions !== undefined && <div className="empty-actions">{actions}</div>}
      {code !== undefined && <Code text={code} />}
    </div>
  );
}
