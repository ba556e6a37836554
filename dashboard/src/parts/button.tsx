import type { ComponentProps, ReactNode } from 'react';

interface ButtonProps extends ComponentProps<'button'> {
  readonly tone?: 'plain' | 'primary' | 'danger' | 'quiet';
  readonly wide?: boolean;
}

export function Button({ tone = 'plain', wide, type = 'button', ...props }: ButtonProps) {
  return (
    <button
      {...props}
      type={type}
      className="button"
      data-tone={tone}
      data-wide={wide === true ? '' : undefined}
    />
  );
}

interface IconButtonProps extends ComponentProps<'button'> {
  /** What it does, for those who hear it and those who point at it. */
  readonly label: string;
  /** The key that does the same. */
  readonly keys?: string;
  readonly small?: boolean;
  readonly children: ReactNode;
}

export function IconButton({ label, keys, small, type = 'button', className, ...props }: IconButtonProps) {
  const classes = className === undefined ? 'icon-button' : `icon-button ${className}`;
  return (
    <button
      {...props}
      type={type}
      className={classes}
      aria-label={label}
      data-tip={keys ?? ''}
      data-small={small === true ? '' : undefined}
    />
  );
}
