import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import CircleSlash from 'lucide-react/icons/circle-slash';
import { type Log, logLevels, logText } from '../../api/logs.ts';
import { milliseconds } from '../../parts/percent.ts';

/** The status of an answer, with a colour and a shape for what it means. */
export function LogStatus({ log }: { readonly log: Log }) {
  const isFailed = log.level >= logLevels.failed;
  const isRefused = !isFailed && log.level >= logLevels.refused;
  const Icon = isFailed ? CircleAlert : isRefused ? CircleSlash : CircleCheck;
  return (
    <span className="badge log-status" data-tone={isFailed ? 'failed' : isRefused ? 'retrying' : 'ok'}>
      <Icon size={13} aria-hidden />
      {logText(log, 'status')}
    </span>
  );
}

/** `12 ms`, `1.4 s`: how long a request took. */
export function executionTime(log: Log): string {
  const ms = Number(logText(log, 'execTime') || Number.NaN);
  return Number.isNaN(ms) ? '' : milliseconds(ms);
}

/** Who sent it: the collection of an account, a key, or nobody who said so. */
export function callerText(log: Log): string {
  if (logText(log, 'key') !== '') return 'API key';
  return logText(log, 'auth') || 'guest';
}
