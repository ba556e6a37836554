import type { Printer } from './printer.ts';
import type { ReceivedWebhook } from './receiver-message.ts';

/** The webhooks in the order in which they arrived. */
export class Inbox {
  readonly webhooks: ReceivedWebhook[] = [];
  readonly #printer: Printer;
  #onAdded: () => void = () => undefined;

  constructor(printer: Printer) {
    this.#printer = printer;
  }

  add(webhook: ReceivedWebhook): void {
    this.webhooks.push(webhook);
    this.#printer.received(webhook);
    this.#onAdded();
  }

  async waitFor(count: number): Promise<void> {
    while (this.webhooks.length < count) {
      await new Promise<void>((resolve) => {
        this.#onAdded = resolve;
      });
    }
  }
}
