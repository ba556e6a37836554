import type { Verdicts } from './verify-webhook.ts';

/** A message from the receiver's process to the demo. */
export type ReceiverMessage =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'webhook'; readonly webhook: ReceivedWebhook };

/** The message from the demo to the receiver's process: the endpoint's secret, which only its owner is shown. */
export interface SecretMessage {
  readonly secret: string;
}

/** A request as the receiver got it, with the verdicts of its checks. */
export interface ReceivedWebhook {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly verdicts: Verdicts;
}
