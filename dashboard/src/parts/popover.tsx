import type { ReactNode } from 'react';
import { type TriggerElement, useOpener } from './use-opener.tsx';

interface PopoverProps {
  readonly trigger: TriggerElement;
  /** The label of the trigger where this is left out. */
  readonly label?: string;
  readonly className?: string;
  readonly align: 'start' | 'end';
  readonly children: ReactNode | ((close: () => void) => ReactNode);
}

/** What opens from a button and is more than a list of actions. */
export function Popover({ trigger, label, className = '', align, children }: PopoverProps) {
  const { radix, button, id, anchor, isOpen, change, contentProps } = useOpener(trigger, 'dialog');
  const Primitive = radix?.popover;
  return (
    <>
      {button}
      {Primitive !== undefined && (
        <Primitive.Root open={isOpen} onOpenChange={change}>
          <Primitive.Anchor virtualRef={anchor} />
          {/* A modal dialog covers what is outside of it. */}
          <Primitive.Portal container={anchor.current?.closest('dialog') ?? null}>
            <Primitive.Content
              className={`floating ${className}`.trim()}
              align={align}
              sideOffset={4}
              collisionPadding={8}
              {...(label === undefined ? { 'aria-labelledby': id } : { 'aria-label': label })}
              {...contentProps}
            >
              {typeof children === 'function' ? children(() => change(false)) : children}
            </Primitive.Content>
          </Primitive.Portal>
        </Primitive.Root>
      )}
    </>
  );
}
