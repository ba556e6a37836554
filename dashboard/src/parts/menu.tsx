import * as Primitive from '@radix-ui/react-dropdown-menu';
import type { LucideIcon } from 'lucide-react';
import Check from 'lucide-react/icons/check';
import type { ReactNode } from 'react';

interface MenuProps {
  readonly trigger: ReactNode;
  readonly children: ReactNode;
  readonly align?: 'start' | 'end';
  /** What gets the focus when it closes; the trigger where this is left out, or finds nothing. */
  readonly findNext?: () => HTMLElement | null | undefined;
}

/** A list of actions that opens from a button. Not modal: what locks the page behind would write a style into it, which our policy forbids. */
export function Menu({ trigger, children, align = 'end', findNext }: MenuProps) {
  return (
    <Primitive.Root modal={false}>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          className="floating"
          align={align}
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={(event) => {
            const next = findNext?.();
            if (next === undefined || next === null) return;
            event.preventDefault();
            next.focus();
          }}
        >
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

interface MenuItemProps {
  readonly icon?: LucideIcon;
  readonly children: ReactNode;
  readonly end?: ReactNode;
  readonly tone?: 'danger';
  readonly onSelect: () => void;
}

export function MenuItem({ icon: Icon, children, end, tone, onSelect }: MenuItemProps) {
  return (
    <Primitive.Item className="menu-item" data-tone={tone} onSelect={onSelect}>
      {Icon !== undefined && <Icon size={15} aria-hidden />}
      {children}
      {end !== undefined && <span className="menu-end">{end}</span>}
    </Primitive.Item>
  );
}

interface MenuChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly choices: readonly { readonly value: Value; readonly label: string; readonly icon?: LucideIcon }[];
  readonly onChange: (value: Value) => void;
}

/** One of several, of which one holds. */
export function MenuChoice<Value extends string>({
  label,
  value,
  choices,
  onChange,
}: MenuChoiceProps<Value>) {
  return (
    <Primitive.RadioGroup value={value}>
      <Primitive.Label className="menu-label">{label}</Primitive.Label>
      {choices.map(({ value: choice, label: text, icon: Icon }) => (
        <Primitive.RadioItem
          key={choice}
          className="menu-item"
          value={choice}
          onSelect={(event) => {
            // Who tries themes wants to see each.
            event.preventDefault();
            onChange(choice);
          }}
        >
          {Icon !== undefined && <Icon size={15} aria-hidden />}
          {text}
          <Primitive.ItemIndicator className="menu-end">
            <Check size={14} aria-hidden />
          </Primitive.ItemIndicator>
        </Primitive.RadioItem>
      ))}
    </Primitive.RadioGroup>
  );
}

export function MenuLine() {
  return <Primitive.Separator className="menu-line" />;
}
