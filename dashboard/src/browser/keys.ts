import { useEffect, useEffectEvent } from 'react';

/** `Mod+k`, `c`, `Escape`: Mod is ⌘ on a Mac, else Ctrl. */
export type KeyBindings = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/**
 * Does something at a key, wherever the focus is. Keys without Mod are left to fields where one is typing, and to dialogs, which have keys of their
 * own.
 */
export function useKeys(bindings: KeyBindings): void {
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || event.isComposing) return;
    const hasMod = event.metaKey || event.ctrlKey;
    const binding = bindings[hasMod ? `Mod+${event.key.toLowerCase()}` : event.key];
    if (binding === undefined || (!hasMod && event.key !== 'Escape' && isTyping(event.target))) return;
    if (document.querySelector('dialog[open]') !== null) return;
    binding(event);
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => press(event);
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  }, []);
}

/** Whether a key is for a field. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    // An editor is in a shadow tree.
    (target.isContentEditable ||
      target.shadowRoot !== null ||
      /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
