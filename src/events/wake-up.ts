/**
 * Tells a listener in this process that an instance has new events, so that deliveries start at once instead of at the next poll. A
 * wake-up may be lost with the process: the listener also polls.
 */
export class WakeUp {
  #listener: ((instanceId: string) => void) | undefined;

  onWakeUp(listener: (instanceId: string) => void): void {
    this.#listener = listener;
  }

  notify(instanceId: string): void {
    this.#listener?.(instanceId);
  }
}
