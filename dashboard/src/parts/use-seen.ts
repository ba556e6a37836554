import { type RefObject, useEffect, useRef, useState } from 'react';

/** Whether an element has been in sight: what it shows is fetched then, and stays. */
export function useSeen(): readonly [place: RefObject<HTMLDivElement | null>, isSeen: boolean] {
  const place = useRef<HTMLDivElement>(null);
  const [isSeen, setIsSeen] = useState(false);
  useEffect(() => {
    if (isSeen || place.current === null) return undefined;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setIsSeen(true);
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return [place, isSeen];
}
