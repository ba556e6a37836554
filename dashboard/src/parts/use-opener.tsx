import type * as RadixMenu from '@radix-ui/react-menu';
import type * as RadixPopover from '@radix-ui/react-popover';
import {
  type ButtonHTMLAttributes,
  cloneElement,
  type KeyboardEvent,
  type ReactElement,
  type RefAttributes,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { showToast } from './toast.tsx';

/** The parts of Radix that float. Half of the code that places them is not needed to show a screen, so it comes when a button is first reached. */
export interface Radix {
  readonly menu: typeof RadixMenu;
  readonly popover: typeof RadixPopover;
}

let loaded: Radix | undefined;

async function loadRadix(): Promise<Radix> {
  const [menu, popover] = await Promise.all([
    import('@radix-ui/react-menu'),
    import('@radix-ui/react-popover'),
  ]);
  loaded = { menu, popover };
  return loaded;
}

/** Radix once a button was reached; undefined until then. */
export function useRadix(isNeeded: boolean): {
  readonly radix: Radix | undefined;
  readonly load: () => void;
} {
  const [radix, setRadix] = useState(loaded);
  const isLoading = useRef(false);
  const load = (): void => {
    if (radix !== undefined || isLoading.current) return;
    isLoading.current = true;
    loadRadix().then(setRadix, () => {
      isLoading.current = false;
      if (isNeeded) showToast('A part of the dashboard could not be loaded. Try again.', 'failed');
    });
  };
  return { radix, load };
}

export type TriggerElement = ReactElement<
  ButtonHTMLAttributes<HTMLButtonElement> & RefAttributes<HTMLButtonElement>
>;

/** Has a button open something that floats beside it. */
export function useOpener(trigger: TriggerElement, kind: 'menu' | 'dialog') {
  const [element, setElement] = useState<HTMLButtonElement | null>(null);
  const anchor = useMemo(() => ({ current: element }), [element]);
  const ownId = useId();
  const id = trigger.props.id ?? ownId;
  const [isOpen, setIsOpen] = useState(false);
  const { radix, load } = useRadix(isOpen);
  const change = (next: boolean): void => {
    load();
    setIsOpen(next);
  };
  const button = cloneElement(trigger, {
    id,
    ref: setElement,
    'aria-haspopup': kind,
    'aria-expanded': isOpen,
    onPointerEnter: load,
    onFocus: load,
    onClick: () => change(!isOpen),
    onKeyDown: (event: KeyboardEvent<HTMLButtonElement>) => {
      trigger.props.onKeyDown?.(event);
      if (kind !== 'menu' || event.key !== 'ArrowDown') return;
      event.preventDefault();
      change(true);
    },
  });
  /** For Radix's content: a press on the button is for the button, and the focus returns to it unless it has gone elsewhere. */
  const contentProps = {
    onInteractOutside: (event: Event): void => {
      if (event.target instanceof Node && element?.contains(event.target) === true) event.preventDefault();
    },
    onCloseAutoFocus: (event: Event): void => {
      event.preventDefault();
      if (document.activeElement === document.body) element?.focus();
    },
  };
  return { radix, button, id, anchor, isOpen, change, contentProps };
}
