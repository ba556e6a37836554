import { systemClock } from '../../base/clock.ts';
import { servedCertificate } from '../../network/served-certificate.ts';
import { checkCertificateEnd } from './check-machine.ts';
import type { Check } from './checks.ts';
import { durationText } from '../terminal/duration-text.ts';

const answerMsMax = 10_000;

/** Checks what can be seen of a service from outside, without a token: whether it is ready, its clock and its certificate. */
export async function checkConnection(url: string): Promise<readonly Check[]> {
  const parsed = new URL(url);
  const certificate = parsed.protocol === 'https:' ? [await checkCertificate(parsed)] : [checkPlain(parsed)];
  const begin = systemClock.now();
  // The probe is one of the service, not of an instance.
  const answer = await fetch(new URL('/api/health/ready', url), {
    signal: AbortSignal.timeout(answerMsMax),
    redirect: 'manual',
  }).catch((error: unknown) => String(error instanceof Error ? (error.cause ?? error) : error));
  if (typeof answer === 'string')
    return [
      {
        name: 'service',
        state: 'failure',
        message: `${url} cannot be reached: ${answer}.`,
        advice: 'Does it run, and does the proxy before it pass requests on?',
      },
      ...certificate,
    ];
  const middle = (begin + systemClock.now()) / 2;
  const clock = checkClock(answer.headers.get('date'), middle);
  return [await checkReady(url, answer), ...(clock === undefined ? [] : [clock]), ...certificate];
}

async function checkReady(url: string, answer: Response): Promise<Check> {
  const name = 'service';
  const text = await answer.text();
  if (answer.status === 200 && text.includes('"The service is ready."'))
    return { name, state: 'ok', message: `${url} is ready.` };
  const advice = 'Look at its log, and at the disk or the database that it uses.';
  if (answer.status === 503) return { name, state: 'failure', message: `${url} is not ready.`, advice };
  const message = `${url} answers ${answer.status} where the probe of a service is expected.`;
  return { name, state: 'failure', message, advice: 'Give the URL of the service itself.' };
}

/** Beyond the second that the header leaves out, and some time on the way. */
const clockWarningSeconds = 5;
/** What receivers tolerate. */
const clockFailureSeconds = 300;

function checkClock(date: string | null, now: number): Check | undefined {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs)) return undefined;
  // The header has whole seconds, cut off.
  const difference = Math.round((theirs + 500 - now) / 1_000);
  const seconds = Math.abs(difference);
  const name = 'clock';
  if (seconds <= clockWarningSeconds)
    return { name, state: 'ok', message: 'The clocks of the service and of this machine agree.' };
  const message = `The clock of the service is ${durationText(seconds)} ${difference > 0 ? 'ahead of' : 'behind'} that of this machine.`;
  const state = seconds > clockFailureSeconds ? 'failure' : 'warning';
  const advice = 'Set both by NTP: receivers refuse webhooks that are more than five minutes old or ahead.';
  return { name, state, message, advice };
}

function checkPlain({ hostname }: URL): Check {
  const name = 'certificate';
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  if (isLocal) return { name, state: 'ok', message: 'None is needed on this machine.' };
  const message = 'The service is reached without TLS.';
  return { name, state: 'warning', message, advice: 'Tokens can be read on the way: use https.' };
}

async function checkCertificate({ hostname, port }: URL): Promise<Check> {
  const name = 'certificate';
  try {
    const place = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 443) };
    const { end, problem } = await servedCertificate(place, answerMsMax);
    const check = checkCertificateEnd(end);
    if (problem === undefined || check.state === 'failure') return check;
    return {
      name,
      state: 'failure',
      message: `It is not trusted: ${problem}.`,
      advice: 'Serve the whole chain of an authority that clients know.',
    };
  } catch (error) {
    const message = `There is no TLS: ${error instanceof Error ? error.message : String(error)}.`;
    return { name, state: 'failure', message, advice: 'Is it the right port, and does the proxy run?' };
  }
}
