import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Accounts } from './accounts.ts';
import { MovableClock } from './movable-clock.ts';
import type { TestServiceOptions } from './service.ts';
import { SmtpSink, type ReadMail } from './smtp-sink.ts';

/** A service with accounts, a movable clock, and a real mail server that receives all of its mails. */
export class Mailbox {
  readonly accounts: Accounts;
  readonly sink: SmtpSink;
  readonly clock: MovableClock;

  private constructor(accounts: Accounts, sink: SmtpSink, clock: MovableClock) {
    this.accounts = accounts;
    this.sink = sink;
    this.clock = clock;
  }

  static async open(t: TestContext, options: TestServiceOptions = {}): Promise<Mailbox> {
    const clock = new MovableClock();
    const accounts = await Accounts.start(t, { ...options, parts: { clock, ...options.parts } });
    const sink = await SmtpSink.start(t);
    await sink.serve(accounts.service);
    return new Mailbox(accounts, sink, clock);
  }

  /** Runs `ask`, which sends a mail, and waits for that mail. */
  async mailOf(ask: () => Promise<unknown>): Promise<ReadMail & { readonly html: string }> {
    const count = this.sink.mails.length;
    await ask();
    const mail = await this.sink.mail(count);
    return { ...mail, html: mail.parsed.html ?? '' };
  }

  /** Returns the token in the link of the mail that `ask` sends. */
  async tokenOf(ask: () => Promise<unknown>): Promise<string> {
    const { html } = await this.mailOf(ask);
    const [, token] = /\/_\/#\/auth\/confirm-[a-z-]+\/([\w.-]+)"/.exec(html) ?? [];
    assert.ok(token !== undefined, html);
    return token;
  }

  /** Returns the one-time password in the mail that `ask` sends. */
  async codeOf(ask: () => Promise<unknown>): Promise<string> {
    const { html } = await this.mailOf(ask);
    const [, code] = /<strong>(\d+)<\/strong>/.exec(html) ?? [];
    assert.ok(code !== undefined, html);
    return code;
  }

  /** Resolves when all mails requested so far have arrived: it requests another one and waits for that. */
  async settle(name: string): Promise<void> {
    const { email } = await this.accounts.account(name);
    const mail = await this.mailOf(() =>
      this.accounts.ask('POST', '/api/collections/users/request-verification', { body: { email } }),
    );
    assert.deepEqual(mail.to, [email]);
  }
}
