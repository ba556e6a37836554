import type { LucideIcon } from 'lucide-react';
import type { ComponentProps } from 'react';

export interface ButtonProps extends ComponentProps<'button'> {
  /** In front of the text. */
  readonly icon?: LucideIcon;
  readonly tone?: 'plain' | 'primary' | 'danger' | 'quiet';
  readonly wide?: boolean;
}

export function Button(props: ButtonProps) {
  const { tone = 'plain', wide, type = 'button', icon: Icon, children, ...others } = props;
  return (
    <button
      {...others}
      type={type}
      className="button"
      data-tone={tone}
      data-wide={wide === true ? '' : undefined}
    >
      {Icon !== undefined && <Icon size={14} aria-hidden />}
      {children}
    </button>
  );
}

interface IconButtonProps extends ComponentProps<'button'> {
  /** What it does, for those who hear it and those who point at it. */
  readonly label: string;
  /** The key that does the same. */
  readonly keys?: string;
  readonly small?: boolean;
  readonly icon?: LucideIcon;
}

/** An icon that can be pressed, with its name as a tooltip. */
export function IconButton(props: IconButtonProps) {
  const { label, keys, small = false, type = 'button', className, icon: Icon, children, ...others } = props;
  const classes = className === undefined ? 'icon-button' : `icon-button ${className}`;
  return (
    <button
      {...others}
      type={type}
      className={classes}
      aria-label={label}
      data-tip={keys ?? ''}
      data-small={small ? '' : undefined}
    >
      {Icon !== undefined && <Icon size={small ? 14 : 16} aria-hidden />}
      {children}
    </button>
  );
}
