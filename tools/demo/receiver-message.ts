import type { Verdicts } from './verify-webhook.ts';

/** What the receiver's process tells the demo. */
export type ReceiverMessage =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'webhook'; readonly webhook: ReceivedWebhook };

/** What the demo tells the receiver's process: the secret, which only the owner of the endpoint is shown. */
export interface SecretMessage {
  readonly secret: string;
}

/** A request as the receiver got it, and what it thinks of it. */
export interface ReceivedWebhook {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly verdicts: Verdicts;
}
