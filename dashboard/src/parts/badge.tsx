import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

interface BadgeProps {
  readonly tone?: 'ok' | 'failed' | 'retrying' | 'waiting' | 'paused' | undefined;
  /** Of its own for each tone, as not everybody sees colours. */
  readonly icon?: LucideIcon | undefined;
  readonly children?: ReactNode;
}

/** How something stands: by a shape, a colour and a word. */
export function Badge({ tone, icon: Icon, children }: BadgeProps) {
  return (
    <span className="badge" data-tone={tone}>
      {Icon !== undefined && <Icon size={14} aria-hidden />}
      {children}
    </span>
  );
}
