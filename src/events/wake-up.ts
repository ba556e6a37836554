/**
 * Says in memory that an instance has something new, so that deliveries start at once instead of at the next look. It may be
 * lost with the process and is never needed: whoever listens also looks by itself.
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
