import type { Clock } from '../base/clock.ts';
import { tlsOf } from '../deliveries/deliveries.ts';
import type { Sender } from '../sending/sender.ts';
import type { EndpointLane } from './endpoint-lane.ts';

/** How many are open at once; the others wait for the next sweep. */
const openMax = 64;

export interface HandshakesOptions {
  readonly sender: Pick<Sender, 'handshake'>;
  readonly clock: Clock;
  /** Called when a receiver can be reached again, so that a probe is due. */
  readonly onReached: (instanceId: string) => void;
}

/** Checks whether unreachable receivers can be reached again: by a connection without a request. It needs no open instance. */
export class Handshakes {
  readonly #options: HandshakesOptions;
  #open = 0;

  constructor(options: HandshakesOptions) {
    this.#options = options;
  }

  look(instanceId: string, lanes: Iterable<EndpointLane>): void {
    const { clock } = this.#options;
    for (const state of lanes) {
      if (this.#open >= openMax) return;
      if (state.lane.beginHandshake(clock.now())) void this.#shake(instanceId, state);
    }
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
