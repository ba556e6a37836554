import type { Timestamp } from '../base/timestamp.ts';
import type { Mail, MailResult } from './mail.ts';

export interface RecordedMail {
  readonly created: Timestamp;
  readonly mail: Mail;
  readonly result: MailResult;
}

/** For all instances together: the record only serves to look at the last few mails while developing. */
export const recordedMailsMax = 100;

/** The last mails with their content. Only on a development server, because a mail can be worth as much as its recipient's password. */
export class MailRecord {
  readonly #mails: (RecordedMail & { readonly instanceId: string })[] = [];

  add(instanceId: string, recorded: RecordedMail): void {
    this.#mails.push({ instanceId, ...recorded });
    if (this.#mails.length > recordedMailsMax) this.#mails.shift();
  }

  /** Returns an instance's mails, the latest first. */
  of(instanceId: string): readonly RecordedMail[] {
    return this.#mails.filter((mail) => mail.instanceId === instanceId).toReversed();
  }
}
