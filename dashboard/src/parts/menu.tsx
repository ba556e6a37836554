import type { LucideIcon } from 'lucide-react';
import Check from 'lucide-react/icons/check';
import { createContext, use, useEffect, type ReactNode } from 'react';
import { type Radix, type TriggerElement, useOpener, useRadix } from './use-opener.tsx';
import { type Point, usePointAnchor } from './use-point-anchor.ts';

const MenuContext = createContext<Radix['menu'] | undefined>(undefined);

/** The parts of the menu around. Only what a menu shows uses them, so that they are there. */
function usePrimitive(): Radix['menu'] {
  const primitive = use(MenuContext);
  if (primitive === undefined) throw new Error('expected a menu around this item');
  return primitive;
}

interface MenuProps {
  readonly trigger: TriggerElement;
  readonly children: ReactNode;
  readonly align?: 'start' | 'end';
  /** What gets the focus when it closes; the trigger where this is left out, or finds nothing. */
  readonly findNext?: () => HTMLElement | null | undefined;
}

/** A list of actions that opens from a button. Not modal: what locks the page behind would write a style into it, which our policy forbids. */
export function Menu({ trigger, children, align = 'end', findNext }: MenuProps) {
  const { radix, button, id, anchor, isOpen, change, contentProps } = useOpener(trigger, 'menu');
  const Primitive = radix?.menu;
  return (
    <>
      {button}
      {Primitive !== undefined && (
        <MenuContext value={Primitive}>
          {/* There before it opens: it has to know whether a key or the pointer opens it. */}
          <Primitive.Root modal={false} open={isOpen} onOpenChange={change}>
            <Primitive.Anchor virtualRef={anchor} />
            <Primitive.Portal>
              <Primitive.Content
                className="floating"
                align={align}
                sideOffset={4}
                collisionPadding={8}
                aria-labelledby={id}
                {...contentProps}
                onCloseAutoFocus={(event) => {
                  const next = findNext?.();
                  if (next === undefined || next === null) contentProps.onCloseAutoFocus(event);
                  else {
                    event.preventDefault();
                    next.focus();
                  }
                }}
              >
                {children}
              </Primitive.Content>
            </Primitive.Portal>
          </Primitive.Root>
        </MenuContext>
      )}
    </>
  );
}

interface PointMenuProps {
  readonly label: string;
  readonly point: Point;
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** A list of actions where the pointer is. */
export function PointMenu({ label, point, children, onClose }: PointMenuProps) {
  const { radix, load } = useRadix(true);
  const anchor = usePointAnchor(point);
  useEffect(load);
  const Primitive = radix?.menu;
  if (Primitive === undefined) return null;
  return (
    <MenuContext value={Primitive}>
      <Primitive.Root open modal={false} onOpenChange={(isOpen) => !isOpen && onClose()}>
        <Primitive.Anchor virtualRef={anchor} />
        <Primitive.Portal>
          <Primitive.Content
            className="floating"
            align="start"
            sideOffset={2}
            collisionPadding={8}
            aria-label={label}
            onCloseAutoFocus={(event) => event.preventDefault()}
          >
            {children}
          </Primitive.Content>
        </Primitive.Portal>
      </Primitive.Root>
    </MenuContext>
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
  const Primitive = usePrimitive();
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
  const Primitive = usePrimitive();
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
  const Primitive = usePrimitive();
  return <Primitive.Separator className="menu-line" />;
}
