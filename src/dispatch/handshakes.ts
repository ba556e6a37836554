import type { Clock } from '../base/clock.ts';
import { tlsOf } from '../deliveries/deliveries.ts';
import type { Sender } from '../sending/sender.ts';
import type { EndpointLane } from './endpoint-lane.ts';
import type { InstanceLanes } from './lanes.ts';
import { type OriginNews, ReachedOrigins } from './reached-origins.ts';

/** How many are open at once; the others wait for the next sweep. */
const openMax = 64;

export interface HandshakesOptions {
  readonly sender: Pick<Sender, 'handshake'>;
  readonly clock: Clock;
  /** Called when a receiver can be reached again, so that a probe is due. */
  readonly onReached: (instanceId: string) => void;
  /** Tells other nodes which origins cannot be reached here, and which of theirs were. */
  readonly onOrigins?: (news: OriginNews) => void;
}

/** Checks whether unreachable receivers can be reached again: by a connection without a request. It needs no open instance. */
export class Handshakes {
  readonly origins = new ReachedOrigins();
  readonly #options: HandshakesOptions;
  #open = 0;

  constructor(options: HandshakesOptions) {
    this.#options = options;
  }

  /** Looks at the lanes of instances, by their ids, and tells other nodes what these wait for. */
  look(owned: Iterable<readonly [instanceId: string, lanes: InstanceLanes]>): void {
    const { clock, onOrigins } = this.#options;
    const { all, wished } = this.origins.take(clock.monotonic());
    const waiting = new Set<string>();
    for (const [id, lanes] of owned)
      for (const state of lanes.all()) this.#lookAt(id, state, { reached: all, waiting });
    const news = this.origins.newsOf([...waiting], wished);
    if (news !== undefined) onOrigins?.(news);
  }

  /** Adds an origin to `waiting` that cannot be reached; another endpoint has reached those of `reached`. */
  #lookAt(
    instanceId: string,
    state: EndpointLane,
    { reached, waiting }: { readonly reached: ReadonlySet<string>; readonly waiting: Set<string> },
  ): void {
    const { clock, onReached } = this.#options;
    const { lane, origin } = state;
    if (!lane.isUnreachable) return;
    if (reached.has(origin) && lane.noteHandshake(true, clock.now())) onReached(instanceId);
    else waiting.add(origin);
    if (this.#open < openMax && lane.beginHandshake(clock.now())) void this.#shake(instanceId, state);
  }

  async #shake(instanceId: string, { lane, endpoint }: EndpointLane): Promise<void> {
    const { sender, clock, onReached } = this.#options;
    this.#open += 1;
    try {
      const isReached = await sender.handshake(endpoint.url, tlsOf(endpoint).tls);
      if (lane.noteHandshake(isReached, clock.now())) onReached(instanceId);
    } finally {
      this.#open -= 1;
    }
  }
}
