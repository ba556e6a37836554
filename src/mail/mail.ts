/**
 * A mail as it is to be sent. The map of this folder:
 *
 *   template and facts ── render-mail ──► Mail ── mailer ── turn-queue ── send-mail ──► the instance's mail server
 *                                                   └── mail-record: what was sent, while developing
 *
 * Nothing in here touches a database: a mail is made from data read earlier, and sent while no request waits for it.
 */
export interface Mail extends MailText {
  readonly sender: { readonly name: string; readonly address: string };
  /** One address, which has passed the check of an e-mail field. */
  readonly to: string;
}

export interface MailText {
  /** One line of plain text. */
  readonly subject: string;
  readonly html: string;
}

/** What became of a mail. `sent` means that a server accepted it, not that it has arrived. */
export type MailResult =
  | { readonly kind: 'sent' }
  | { readonly kind: 'kept' }
  | { readonly kind: 'failed'; readonly reason: string };
