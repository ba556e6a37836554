import { useRouter } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useState } from 'react';

const pauseMs = 220;

interface FilterText {
  /** The filter of the address. */
  readonly filter: string;
  /** Whether a text is an expression: that is sent with Enter only, a word as soon as one pauses. */
  readonly isExpression: (text: string) => boolean;
  readonly onFilter: (filter: string) => void;
}

/** The text of a filter while it is typed, which follows the address when that changes: by Back, or by a link. */
export function useFilterText({ filter, isExpression, onFilter }: FilterText) {
  const [text, setText] = useState(filter);
  const [followed, setFollowed] = useState(filter);
  if (followed !== filter) {
    setFollowed(filter);
    setText(filter);
  }
  const { history } = useRouter();
  const apply = useEffectEvent(onFilter);
  const isWord = useEffectEvent((wanted: string) => !isExpression(wanted));
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === filter || !isWord(wanted)) return undefined;
    const { pathname } = history.location;
    const timer = setTimeout(() => {
      // Whoever is on the way to another screen, which is still being loaded, must not be taken back.
      if (history.location.pathname === pathname) apply(wanted);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [text, filter, history]);
  return [text, setText] as const;
}
