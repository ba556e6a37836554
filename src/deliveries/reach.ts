import type { AttemptKind } from '../sending/attempt-result.ts';

/** A sweep comes every 5 seconds: so a receiver that recovered is found within 30. */
const handshakeEveryMs = 25_000;
/** The waits between probes that handshakes make due while these fail: at most some 80 a day, besides those that are due by themselves. */
const probeEveryMsMin = 30_000;
const probeEveryMsMax = 1_200_000;

const unreachedKinds: readonly AttemptKind[] = ['dns', 'connect', 'tls', 'proxy'];

/**
 * When an unreachable receiver gets a handshake. Only the change from a failure to a success makes a
 * probe due: a load balancer accepts connections for a receiver that is down, and would get a request after each of them otherwise.
 *
 * Times are milliseconds since 1970.
 */
export class Reach {
  /** Until an attempt says otherwise: failures before a restart are unknown. */
  #mayBeUnreachable = true;
  #hasFailed = true;
  #handshakeAt = Number.NEGATIVE_INFINITY;
  #probes = 0;
  #probeFrom = Number.NEGATIVE_INFINITY;

  /** Whether its last failure may have been one of the connection. */
  get mayBeUnreachable(): boolean {
    return this.#mayBeUnreachable;
  }

  /** Notes that the lane was opened. */
  begin(now: number): void {
    this.#hasFailed = true;
    this.#handshakeAt = now;
  }

  /** Notes why an attempt has failed. */
  noteFailure(kind: AttemptKind): void {
    this.#mayBeUnreachable = unreachedKinds.includes(kind);
  }

  /** Returns whether a handshake is due, and counts it as begun. */
  beginHandshake(now: number): boolean {
    const passedMs = now - this.#handshakeAt;
    // A clock that was set back makes none wait.
    if (!this.#mayBeUnreachable || (passedMs >= 0 && passedMs < handshakeEveryMs)) return false;
    this.#handshakeAt = now;
    return true;
  }

  /** Notes how a handshake has ended. Returns whether a probe is due. */
  note(isReached: boolean, now: number): boolean {
    if (!isReached) {
      this.#hasFailed = true;
      return false;
    }
    if (!this.#hasFailed || now < this.#probeFrom) return false;
    this.#hasFailed = false;
    this.#probeFrom = now + Math.min(probeEveryMsMax, probeEveryMsMin * 2 ** this.#probes);
    this.#probes += 1;
    return true;
  }
}
