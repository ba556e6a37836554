import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Key } from './key.tsx';

const delayMs = 450;
/** For so long after one tooltip, its neighbours follow without a wait. */
const followMs = 200;
const gap = 6;
const margin = 8;

/**
 * Shows the label of the button under the pointer, or of the one that the keys have reached. Buttons with an icon alone ask for it by `data-tip`,
 * which holds the key that does the same. One for the whole page: tables have hundreds of such buttons.
 */
export function Tooltips() {
  const [target, setTarget] = useState<HTMLElement>();
  const box = useRef<HTMLDivElement>(null);
  useTarget(setTarget);
  useLayoutEffect(() => {
    if (target === undefined || box.current === null) return;
    const { left, top, bottom, width } = target.getBoundingClientRect();
    const { offsetWidth, offsetHeight, style } = box.current;
    const wanted = left + (width - offsetWidth) / 2;
    style.left = `${Math.max(margin, Math.min(wanted, innerWidth - offsetWidth - margin))}px`;
    style.top = `${top < offsetHeight + gap + margin ? bottom + gap : top - offsetHeight - gap}px`;
  }, [target]);
  if (target === undefined) return null;
  const keys = target.dataset['tip'] ?? '';
  return (
    <div className="tooltip" ref={box} aria-hidden>
      {target.ariaLabel}
      {keys !== '' && <Key keys={keys} />}
    </div>
  );
}

function useTarget(show: (target: HTMLElement | undefined) => void): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current: HTMLElement | undefined;
    let hiddenAt = -Infinity;
    const hide = (): void => {
      clearTimeout(timer);
      if (current !== undefined) hiddenAt = performance.now();
      current = undefined;
      show(undefined);
    };
    const point = ({ target, type }: Event): void => {
      const found = target instanceof Element ? target.closest<HTMLElement>('[data-tip]') : null;
      if (found !== null && found === current) return;
      hide();
      if (found === null || (type === 'focusin' && !found.matches(':focus-visible'))) return;
      const wait = performance.now() - hiddenAt < followMs ? 0 : delayMs;
      timer = setTimeout(() => {
        current = found;
        if (found.isConnected) show(found);
      }, wait);
    };
    const controller = new AbortController();
    const options = { signal: controller.signal, capture: true, passive: true };
    // A touch is a press, for which no tooltip shows.
    document.addEventListener(
      'pointerover',
      (event) => event.pointerType === 'mouse' && point(event),
      options,
    );
    document.addEventListener('focusin', point, options);
    for (const name of ['pointerdown', 'keydown', 'scroll'] as const)
      document.addEventListener(name, hide, options);
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [show]);
}
