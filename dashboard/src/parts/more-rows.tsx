import { useEffect, useEffectEvent, useRef } from 'react';
import { Button } from './button.tsx';

interface MoreRowsProps {
  readonly label: string;
  readonly isShown: boolean;
  readonly isBusy: boolean;
  readonly onMore: () => void;
}

/** The end of a list that goes on: it is fetched when it comes into sight, and by a button for those who go by keys. */
export function MoreRows({ label, isShown, isBusy, onMore }: MoreRowsProps) {
  const place = useRef<HTMLDivElement>(null);
  const more = useEffectEvent(() => {
    if (!isBusy) onMore();
  });
  useEffect(() => {
    if (!isShown || place.current === null) return undefined;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) more();
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [isShown]);
  if (!isShown) return null;
  return (
    <div className="more-rows" ref={place}>
      <Button onClick={onMore} disabled={isBusy}>
        {isBusy ? 'Loading …' : label}
      </Button>
    </div>
  );
}
