import { attemptDigest } from './delivery-words.ts';
import type { Delivery } from '../api/events.ts';
import { plural } from './time.tsx';

/** `3 attempts: 500, 500, 200`. */
export function AttemptLine({ delivery }: { readonly delivery: Delivery }) {
  const { length } = delivery.attempts;
  if (length === 0) return 'No attempt yet';
  return (
    <>
      {plural(length, 'attempt')}: <span className="mono">{attemptDigest(delivery)}</span>
    </>
  );
}
