/** An instance's endpoints that have deliveries due, each with how many it may be sent now. */
export interface Contender {
  readonly instanceId: string;
  readonly lanes: readonly { readonly endpointId: string; readonly sendable: number }[];
}

export interface Turn {
  readonly instanceId: string;
  readonly endpointId: string;
}

/**
 * Returns whose turn it is: in each round one delivery for each instance, whose endpoints take turns among themselves, until
 * `capacity` is used up or nothing is left. A noisy instance gets the same share of each round as a quiet one.
 */
export function chooseTurns(contenders: readonly Contender[], capacity: number): readonly Turn[] {
  const turns: Turn[] = [];
  let rounds = contenders.map((contender) => ({
    instanceId: contender.instanceId,
    lanes: contender.lanes.filter((lane) => lane.sendable > 0).map((lane) => ({ ...lane })),
    next: 0,
  }));
  while (turns.length < capacity) {
    rounds = rounds.filter((round) => round.lanes.length > 0);
    if (rounds.length === 0) break;
    for (const round of rounds.slice(0, capacity - turns.length)) {
      const lane = round.lanes[round.next % round.lanes.length];
      if (lane === undefined) continue;
      turns.push({ instanceId: round.instanceId, endpointId: lane.endpointId });
      lane.sendable -= 1;
      if (lane.sendable > 0) round.next += 1;
      else round.lanes.splice(round.next % round.lanes.length, 1);
    }
  }
  return turns;
}
