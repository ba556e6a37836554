import type { Timestamp } from '../base/timestamp.ts';
import type { Mail, MailResult } from './mail.ts';

export interface RecordedMail {
  readonly created: Timestamp;
  readonly mail: Mail;
  readonly result: MailResult;
}

/** All instances together: it is for looking at the last few while developing. */
export const recordedMailsMax = 100;

/** The last mails, with what they hold: of a development server only, as each is as good as its recipient's password. */
export class MailRecord {
  readonly #mails: (RecordedMail & { readonly instanceId: string })[] = [];

  add(instanceId: string, recorded: RecordedMail): void {
    this.#mails.push({ instanceId, ...recorded });
    if (this.#mails.length > recordedMailsMax) this.#mails.shift();
  }

  /** The latest first. */
  of(instanceId: string): readonly RecordedMail[] {
    return this.#mails.filter((mail) => mail.instanceId === instanceId).toReversed();
  }
}
