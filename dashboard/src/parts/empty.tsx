import { Link, type LinkProps } from '@tanstack/react-router';
import type { LucideIcon } from 'lucide-react';
import SearchX from 'lucide-react/icons/search-x';
import type { ReactNode } from 'react';
import { Code } from './code.tsx';

interface EmptyProps {
  readonly icon: LucideIcon;
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
      <Icon size={24} strokeWidth={1.5} aria-hidden />
      <h2>{title}</h2>
      <p className="soft">{children}</p>
      {actions !== undefined && <div className="empty-actions">{actions}</div>}
      {code !== undefined && <Code text={code} />}
    </div>
  );
}

interface NotFoundProps {
  /** `Event not found` */
  readonly title: string;
  readonly icon?: LucideIcon;
  /** Where to go on, and what that is called. */
  readonly link: LinkProps;
  readonly action: string;
  readonly children: ReactNode;
}

/** An address of nothing, and a way out. */
export function NotFound({ title, icon = SearchX, link, action, children }: NotFoundProps) {
  return (
    <Empty icon={icon} title={title} actions={<LinkButton link={link}>{action}</LinkButton>}>
      {children}
    </Empty>
  );
}

interface LinkButtonProps {
  readonly link: LinkProps;
  readonly tone?: 'primary' | undefined;
  readonly children: ReactNode;
}

/** A link that looks as a button, as it is what to do next. */
export function LinkButton({ link, tone, children }: LinkButtonProps) {
  return (
    <Link {...link} className="button" data-tone={tone}>
      {children}
    </Link>
  );
}
