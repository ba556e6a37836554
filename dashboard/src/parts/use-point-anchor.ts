import { useState } from 'react';

/** A place in the window, in pixels from its top left corner. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where Radix places what opens at a point, and not at an element. */
export function usePointAnchor({ x, y }: Point) {
  const [anchor] = useState(() => ({ current: { getBoundingClientRect: () => new DOMRect(x, y, 0, 0) } }));
  return anchor;
}
