import type { createTransport as CreateTransport } from 'nodemailer';
import { codeOf } from '../base/process.ts';
import { ConnectFailure } from '../network/open-socket.ts';
import { type ConnectGuard, guardedConnect } from '../network/guarded-connect.ts';
import type { Settings } from '../settings/settings.ts';
import { type Mail, type MailResult, textOfHtml } from './render-mail.ts';

/** Limits of a whole conversation, of connecting, and of waiting for one answer. */
const totalMsMax = 30_000;
const connectMsMax = 10_000;
const answerMsMax = 15_000;
/** Size of one answer of the server. */
const answerBytesMax = 64 * 1_024;

/** Limits how much of a server's answer is quoted, as it may be of any length. */
const quotedLengthMax = 200;

const refusedServer = 'This address is not allowed for a mail server.';

type Socket = Awaited<ReturnType<typeof guardedConnect>>;

export interface MailServer {
  readonly smtp: Settings['smtp'];
  /** The client name to send when the settings have none. */
  readonly name: string;
}

export interface MailGuard extends ConnectGuard {
  /** Whether a mail may go to this address without TLS. */
  readonly isPlainAllowed: (address: string) => boolean;
}

/**
 * Hands one mail to a server. The server's address passes the same guard as a webhook's, and neither password nor mail goes without
 * TLS unless the operator allows it. Failures of the server are returned, never thrown; `signal` aborts.
 */
export async function sendMail(
  mail: Mail,
  server: MailServer,
  { guard, signal }: { readonly guard: MailGuard; readonly signal: AbortSignal },
): Promise<MailResult> {
  const total = AbortSignal.any([signal, AbortSignal.timeout(totalMsMax)]);
  let socket: Socket | undefined;
  try {
    // Imported on demand, as most services never send a mail; and before the socket exists, whose errors would have no listener yet.
    const { createTransport } = await import('nodemailer');
    socket = await connect(server.smtp, guard, total);
    await converse(mail, { createTransport, server, socket, guard, signal: total });
    return { kind: 'sent' };
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) };
  } finally {
    socket?.destroy();
  }
}

function connect(smtp: Settings['smtp'], guard: ConnectGuard, signal: AbortSignal): Promise<Socket> {
  const { host, port, tls } = smtp;
  const target = { host, port, tls: tls ? 'now' : 'later', refusal: refusedServer } as const;
  const deadline = guard.clock.monotonic() + connectMsMax;
  return guardedConnect(target, guard, {
    deadline,
    timings: { dnsMs: null, connectMs: null, tlsMs: null },
    signal,
  });
}

interface Conversation {
  readonly server: MailServer;
  readonly createTransport: typeof CreateTransport;
  readonly socket: Socket;
  readonly guard: MailGuard;
  readonly signal: AbortSignal;
}

async function converse(
  mail: Mail,
  { createTransport, server, socket, guard, signal }: Conversation,
): Promise<void> {
  const { host, username, password, authMethod, tls, localName } = server.smtp;
  // Where a mail may go without TLS, TLS with an untrusted certificate is still better than none.
  const isPlainEnough = !tls && guard.isPlainAllowed(socket.remoteAddress ?? '');
  const transport = createTransport({
    host,
    secure: tls,
    requireTLS: !tls && !isPlainEnough,
    name: localName === '' ? server.name : localName,
    ...(username === '' ? {} : { auth: { user: username, pass: password }, forceAuth: true }),
    authMethod: authMethod === '' ? 'PLAIN' : authMethod,
    tls: {
      minVersion: 'TLSv1.2',
      // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED could turn the default off.
      rejectUnauthorized: !isPlainEnough,
      ...(guard.trustedCertificates === undefined ? {} : { ca: guard.trustedCertificates }),
    },
    greetingTimeout: answerMsMax,
    socketTimeout: answerMsMax,
    socketCloseTimeout: 0,
    maxResponseSize: answerBytesMax,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: (_options, callback) => callback(null, { connection: socket, secured: tls }),
  });
  const { sender, to, subject, html } = mail;
  await transport.sendMail({
    from: { name: asWritten(onOneLine(sender.name)), address: sender.address },
    to: { name: '', address: to },
    // Set explicitly, so that nodemailer does not parse the headers for it.
    envelope: { from: sender.address, to: [to] },
    subject: asWritten(subject),
    // For readers without HTML, and for filters that treat a mail without a text part as spam.
    text: textOfHtml(html),
    html,
    // Keeps out-of-office replies from answering (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false,
    signal,
  });
}

/** Breaks up what looks like an encoded word: mail readers would decode it (RFC 2047), so its content would evade the checks above. */
function asWritten(text: string): string {
  return text.replaceAll(/=\?(?=[^?\s]+\?[bq]\?)/gi, '= ?');
}

function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

const noAnswer = 'The mail server did not answer in time.';

/** Messages by the error codes of nodemailer. */
const words: Readonly<Record<string, string>> = {
  EABORT: noAnswer,
  EAUTH: 'The mail server did not accept the user name and password.',
  EENVELOPE: 'The mail server did not accept the sender or the recipient.',
  EMESSAGE: 'The mail server did not accept the mail.',
  // Includes problems with the certificate.
  ESOCKET: 'The connection to the mail server failed.',
  ETIMEDOUT: noAnswer,
  ETLS: 'The mail server offers no TLS that can be trusted.',
};

/** Says why sending failed, and quotes the server without any mail address, because the reason is logged. */
function reasonOf(error: unknown): string {
  if (error instanceof ConnectFailure) return error.message;
  const code = codeOf(error);
  const reason = words[code] ?? 'The mail server ended the conversation.';
  if (code === 'ESOCKET' && error instanceof Error) return `${reason} (${onOneLine(error.message)})`;
  const reply =
    error instanceof Error && 'response' in error && typeof error.response === 'string' ? error.response : '';
  const quoted = onOneLine(reply)
    .replaceAll(/\S+@\S+/g, '…')
    .slice(0, quotedLengthMax)
    .toWellFormed()
    .trim();
  return quoted === '' ? reason : `${reason} It said: ${quoted}`;
}
