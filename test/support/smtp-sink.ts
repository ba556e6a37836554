import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { TestService } from './service.ts';
import { eventually } from './eventually.ts';

/** A mail as the server got it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** True when it came over TLS. */
  readonly isSecure: boolean;
  /** The user name that the client signed in with. */
  readonly user: string | undefined;
  /** The whole mail with its headers, as text. */
  readonly raw: string;
}

/** A received mail together with its parsed form, as a mail reader shows it. */
export interface ReadMail extends ReceivedMail {
  readonly parsed: Email;
}

/** A real mail server on a loopback port, which keeps the mails that it gets. */
export class SmtpSink {
  readonly mails: ReceivedMail[] = [];
  readonly #server: SMTPServer;

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      authOptional: true,
      logger: false,
      disabledCommands: ['STARTTLS'],
      onData: (stream, session, callback) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          this.mails.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            isSecure: session.secure,
            user: typeof session.user === 'string' ? session.user : undefined,
            raw: Buffer.concat(chunks).toString(),
          });
          callback();
        });
      },
      ...options,
    });
    this.#server.on('error', () => undefined);
  }

  static async start(t: TestContext, options: SMTPServerOptions = {}): Promise<SmtpSink> {
    const sink = new SmtpSink(options);
    sink.#server.listen(0, '127.0.0.1');
    await once(sink.#server.server, 'listening');
    t.after(() => sink.stop());
    return sink;
  }

  get port(): number {
    // The cast holds: the server listens on a port.
    return (this.#server.server.address() as AddressInfo).port;
  }

  /** Makes it the mail server of a service's default instance. */
  async serve(service: TestService, smtp: object = {}): Promise<void> {
    const body = { smtp: { enabled: true, host: '127.0.0.1', port: this.port, ...smtp } };
    const { status, text } = await service.request('/api/settings', { method: 'PATCH', token: true, body });
    if (status !== 200) throw new Error(text);
  }

  /** Waits for the mail that comes after the first `count`, and returns it parsed. */
  async mail(count: number): Promise<ReadMail> {
    const mail = await eventually('a mail', () => this.mails[count]);
    return { ...mail, parsed: await PostalMime.parse(mail.raw) };
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
