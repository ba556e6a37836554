/**
 * How many requests one endpoint is sent at once. The window starts small, grows by one with each success and halves when the
 * whole endpoint seems to fail, so that a receiver that comes back is not overrun by everything that has waited for it.
 */
export interface Lane {
  /** Attempts that may be open at once: 1 … the endpoint's maxInFlight. */
  readonly window: number;
  readonly inFlight: number;
}

const windowAtStart = 4;

export function newLane(maxInFlight: number): Lane {
  return { window: Math.min(windowAtStart, maxInFlight), inFlight: 0 };
}

export function roomOf(lane: Lane): number {
  return Math.max(0, lane.window - lane.inFlight);
}

/** The same lane after its endpoint was changed. */
export function withinMax(lane: Lane, maxInFlight: number): Lane {
  return lane.window <= maxInFlight ? lane : { ...lane, window: maxInFlight };
}

export function afterSend(lane: Lane): Lane {
  return { ...lane, inFlight: lane.inFlight + 1 };
}

export function afterResult(
  lane: Lane,
  result: { readonly isSuccess: boolean; readonly isEndpointWide: boolean },
  maxInFlight: number,
): Lane {
  const inFlight = Math.max(0, lane.inFlight - 1);
  if (result.isSuccess) return { window: Math.min(maxInFlight, lane.window + 1), inFlight };
  if (result.isEndpointWide) return { window: Math.max(1, Math.floor(lane.window / 2)), inFlight };
  return { ...lane, inFlight };
}
